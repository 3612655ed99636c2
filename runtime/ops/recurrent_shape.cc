#include "runtime/ops/recurrent_shape.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

constexpr int kRanks[] = {3, 3, 3, 2, 1, 3, 3, 2};  // of the operands

bool IsBidirectional(const Node& node) {
  return node.attrs().String("direction", "forward") == "bidirectional";
}

Support CheckOperands(const Node& node) {
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    if (!node.has_input(i)) continue;
    const DType expected = i == kRecurrentLengths ? DType::kI32 : node.input(0).dtype();
    if (node.input(i).dtype() != expected)
      return Support::No(absl::StrCat("input ", i, " is ", NameOf(node.input(i).dtype())));
    if (node.input(i).rank() != kRanks[i])
      return Support::No(
          absl::StrCat("input ", i, " has rank ", node.input(i).rank(), ", expected ", kRanks[i]));
  }
  return Support::Yes();
}

}  // namespace

Support CheckRecurrent(const Node& node, const RecurrentKind& kind) {
  const std::string direction = node.attrs().String("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return Support::No(absl::StrCat("direction \"", direction, "\" is unknown"));
  const int64_t layout = node.attrs().Int("layout", 0);
  if (layout != 0 && layout != 1) return Support::No(absl::StrCat("layout is ", layout));
  const absl::StatusOr<std::vector<GateActivation>> activations =
      GateActivationsOf(node, kind.activations, IsBidirectional(node) ? 2 : 1);
  if (!activations.ok()) return Support::No(std::string(activations.status().message()));
  return CheckOperands(node);
}

RecurrentShape RecurrentShapeOf(const Node& node, const RecurrentKind& kind) {
  const bool batch_first = node.attrs().Int("layout", 0) == 1;
  const Value& x = node.input(kRecurrentX);
  return {.steps = x.dim(batch_first ? 1 : 0),
          .batch = x.dim(batch_first ? 0 : 1),
          .input = x.dim(2),
          .hidden = node.input(kRecurrentR).dim(2),
          .directions = IsBidirectional(node) ? 2 : 1,
          .gates = kind.gates,
          .batch_first = batch_first,
          .first_is_reverse = node.attrs().String("direction", "forward") == "reverse"};
}

absl::Status CheckRecurrentDims(const ReferenceArgs& args, const RecurrentShape& s) {
  const Dims state =
      s.batch_first ? Dims{s.batch, s.directions, s.hidden} : Dims{s.directions, s.batch, s.hidden};
  const Dims y = s.batch_first ? Dims{s.batch, s.steps, s.directions, s.hidden}
                               : Dims{s.steps, s.directions, s.batch, s.hidden};
  const int64_t peepholes = 3;
  const struct {
    int input;
    const char* what;
    Dims dims;
  } operands[] = {{kRecurrentW, "W", {s.directions, s.gate_rows(), s.input}},
                  {kRecurrentR, "R", {s.directions, s.gate_rows(), s.hidden}},
                  {kRecurrentB, "B", {s.directions, 2 * s.gate_rows()}},
                  {kRecurrentLengths, "sequence_lens", {s.batch}},
                  {kRecurrentH, "initial_h", state},
                  {kRecurrentC, "initial_c", state},
                  {kRecurrentP, "P", {s.directions, peepholes * s.hidden}}};
  for (const auto& [input, what, dims] : operands) {
    if (args.has_in(input)) RETURN_IF_ERROR(ExpectDims(what, args.in[input].dims, dims));
  }
  for (size_t i = 0; i < args.out.size(); ++i) {
    if (args.has_out(i))
      RETURN_IF_ERROR(ExpectDims("output", args.out[i].dims, i == 0 ? y : state));
  }
  if (!args.has_in(kRecurrentLengths)) return absl::OkStatus();
  for (int32_t length : args.in[kRecurrentLengths].as<int32_t>()) {
    if (length < 0 || length > s.steps)
      return absl::InvalidArgumentError(
          absl::StrCat("a sequence length is ", length, ", there are ", s.steps, " steps"));
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
