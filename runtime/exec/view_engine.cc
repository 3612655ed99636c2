#include "runtime/exec/view_engine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

constexpr Alias kSameBytes = {.output = 0, .input = 0, .offset = 0, .required = true};

class ViewStep final : public Step {
 public:
  absl::Span<const Alias> aliases() const override { return absl::MakeConstSpan(&kSameBytes, 1); }
  bool launches() const override { return false; }
  absl::Status Launch(const LaunchArgs&) const override { return absl::OkStatus(); }
  std::string Save() const override { return ""; }
};

Support CheckTranspose(const Node& node) {
  const Dims dims = node.input(0).dims();
  std::vector<int64_t> order = node.attrs().Ints("perm");
  if (order.empty()) {
    for (size_t i = dims.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  }
  std::erase_if(order, [&](int64_t dim) { return dims[dim] == 1; });
  const bool in_order = std::is_sorted(order.begin(), order.end());
  return in_order || ElementsOf(dims) == 0 ? Support::Yes() : Support::No("it moves bytes");
}

Support CheckDropout(const Node& node) {
  if (node.has_output(1) && (!node.output(1).uses().empty() || node.output(1).is_graph_output())) {
    return Support::No("its mask is used");
  }
  if (!node.has_input(2)) return Support::Yes();
  const Value& training = node.input(2);
  if (!training.is_constant()) return Support::No("training_mode is not a constant");
  const auto mode = training.constant().data<uint8_t>();
  return mode.empty() || mode[0] == 0 ? Support::Yes() : Support::No("it is in training mode");
}

Support CheckOpIsView(const Node& node) {
  if (node.domain() == kOwnDomain) {
    return node.op() == "Reformat" ? Support::Yes() : Support::No("it crosses memories");
  }
  if (!node.domain().empty()) return Support::No("not an op that keeps bytes");
  if (node.op() == "Transpose") return CheckTranspose(node);
  if (node.op() == "Dropout") return CheckDropout(node);
  constexpr std::array kViews = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"};
  const bool is_view = std::find(kViews.begin(), kViews.end(), node.op()) != kViews.end();
  return is_view ? Support::Yes() : Support::No("not an op that keeps bytes");
}

Support CheckOperands(const Node& node) {
  if (!node.has_input(0) || !node.has_output(0)) return Support::No("it has no operand");
  const Value& in = node.input(0);
  const Value& out = node.output(0);
  if (in.is_constant()) return Support::No("its input is a constant");
  if (out.is_graph_output()) return Support::No("its output is a graph output");
  for (const Value* v : {&in, &out}) {
    if (v->is_static() && BitsOf(v->dtype()) > 0) continue;
    return Support::No(
        absl::StrCat("value ", v->name(), " is ", ToString(v->type()), ", not a static tensor"));
  }
  if (in.dtype() != out.dtype() || in.elements() != out.elements()) {
    return Support::No("its input and output differ in size");
  }
  for (const Value* v : node.inputs().subspan(1)) {
    if (v != nullptr && !v->is_constant()) return Support::No(v->name() + " is not a constant");
  }
  return Support::Yes();
}

Support CheckNode(const Node& node) {
  Support support = CheckOperands(node);
  return support ? CheckOpIsView(node) : support;
}

Support CheckPlacements(const Value& in, const Placement& from, const Value& out,
                        const Placement& to) {
  if (from.space != to.space) return Support::No("its input is in the other memory");
  if (in.dims() == out.dims() && from.format == to.format) return Support::Yes();
  const bool row_major =
      from.format == Format::RowMajor(in.dims()) && to.format == Format::RowMajor(out.dims());
  return row_major ? Support::Yes() : Support::No("its formats differ");
}

class ViewEngine final : public Engine {
 public:
  std::string_view name() const override { return "view"; }

  void Propose(const Graph&, const Node& anchor, const Target& target,
               CandidateSink& sink) const override {
    const Support support = CheckNode(anchor);
    if (!support) return sink.No(*this, anchor, support.reason());
    sink.Add(RowMajorCandidate(*this, anchor, Space::kDevice, target));
  }

  Support Check(const Graph&, const Candidate& candidate, const Target&) const override {
    if (candidate.nodes.size() != 1) return Support::No("view takes one node at a time");
    const Node& node = *candidate.nodes[0];
    const Support support = CheckNode(node);
    if (!support) return support;
    if (candidate.outputs.empty()) return Support::No("its output is not used");
    return CheckPlacements(node.input(0), candidate.inputs[0], node.output(0),
                           candidate.outputs[0]);
  }

  Cost Price(const Candidate&, const Target&) const override { return {.from = "no work"}; }

  absl::StatusOr<Compiled> Compile(const Candidate&, const Variant&, const Target&) const override {
    return Compiled::As(std::make_shared<ViewStep>());
  }
};

}  // namespace

std::unique_ptr<Engine> MakeViewEngine() { return std::make_unique<ViewEngine>(); }

}  // namespace onnx_cudnn
