#include "runtime/exec/view_same_bytes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/graph/conversion.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/transpose.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {
namespace {

bool IsTranspose(const Node& node) { return node.domain().empty() && node.op() == "Transpose"; }

SameBytes RowMajorOf(const Node& node) {
  return {Format::RowMajor(node.input(0).dims()), Format::RowMajor(node.output(0).dims())};
}

// The output dim for each input dim, if the Node keeps their order or is a Transpose. Formats drop
// dims of one element, so any number is correct for those.
std::optional<std::vector<int>> OutputDims(const Node& node) {
  const Dims in = node.input(0).dims(), out = node.output(0).dims();
  const int in_rank = static_cast<int>(in.size()), out_rank = static_cast<int>(out.size());
  std::vector<int> to(in.size(), 0);
  if (IsTranspose(node)) {
    const std::vector<int64_t> perm = TransposePerm(node, in_rank);
    for (int i = 0; i < in_rank; ++i) to[perm[i]] = i;
    return to;
  }
  int o = 0;
  for (int i = 0; i < in_rank; ++i) {
    if (in[i] == 1) continue;
    while (o < out_rank && out[o] == 1) ++o;
    if (o == out_rank || out[o] != in[i]) return std::nullopt;
    to[i] = o++;
  }
  return to;
}

// The strides of the dims in a Format without padding; 1 for dims of one element.
Dims StridesIn(const Format& format, size_t rank) {
  Dims strides(rank, 1);
  int64_t lanes = 1;
  const absl::Span<const Format::Axis> axes = format.axes();
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    strides[axis->dim] = lanes;
    lanes *= axis->pitch;
  }
  return strides;
}

// Pairs of Formats between which a Reshape joins or divides dims that lie beside each other.
std::vector<SameBytes> Divisions(const Node& node, const Target& target) {
  const Value &in = node.input(0), &out = node.output(0);
  const Dims dims = in.dims(), to = out.dims();
  std::vector<SameBytes> divisions;
  for (const Format& from : FormatChoices(in, target)) {
    if (from.has_padding(dims)) continue;
    const auto strides = ReshapedStrides(dims, StridesIn(from, dims.size()), to);
    if (!strides.has_value()) continue;
    for (const Format& choice : FormatChoices(out, target)) {
      const Dims wanted = StridesIn(choice, to.size());
      bool is_same = !choice.has_padding(to);
      for (size_t d = 0; d < to.size(); ++d) {
        is_same = is_same && (to[d] == 1 || wanted[d] == (*strides)[d]);
      }
      if (is_same) divisions.push_back({from, choice});
    }
  }
  return divisions;
}

// Pairs of Formats between which a Node only renames axes.
std::vector<SameBytes> Renamings(const Node& node, const Target& target) {
  const Value& in = node.input(0);
  if (in.elements() == 0) return {RowMajorOf(node)};
  const std::optional<std::vector<int>> to = OutputDims(node);
  if (!to.has_value()) return Divisions(node, target);
  const std::vector<Format> choices = FormatChoices(node.output(0), target);
  std::vector<SameBytes> renamings;
  for (Format& from : FormatChoices(in, target)) {
    std::vector<Format::Axis> axes(from.axes().begin(), from.axes().end());
    for (Format::Axis& axis : axes) axis.dim = (*to)[axis.dim];
    Format renamed = Format::Of(axes);
    if (std::find(choices.begin(), choices.end(), renamed) == choices.end()) continue;
    renamings.push_back({std::move(from), std::move(renamed)});
  }
  return renamings;
}

Support CheckTranspose(const Node& node, const Target& target) {
  return Renamings(node, target).empty() ? Support::No("it moves bytes") : Support::Yes();
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

Support CheckOpIsView(const Node& node, const Target& target) {
  if (IsConversion(node)) {
    return node.op() == "Reformat" ? Support::Yes() : Support::No("it crosses memories");
  }
  if (!node.domain().empty()) return Support::No("not an op that keeps bytes");
  if (IsTranspose(node)) return CheckTranspose(node, target);
  if (node.op() == "Dropout") return CheckDropout(node);
  return TraitsOf(node).keeps_bytes ? Support::Yes() : Support::No("not an op that keeps bytes");
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
  return CheckParameters(node);
}

bool IsSameBytes(const Node& node, const SameBytes& formats, const Target& target) {
  const std::vector<SameBytes> renamings = Renamings(node, target);
  if (std::find(renamings.begin(), renamings.end(), formats) != renamings.end()) return true;
  if (IsTranspose(node)) return false;
  const bool is_unchanged = node.input(0).dims() == node.output(0).dims();
  return (is_unchanged && formats.in == formats.out) || formats == RowMajorOf(node);
}

}  // namespace

Support CheckParameters(const Node& node) {
  for (const Value* v : node.inputs().subspan(1)) {
    if (v != nullptr && !v->is_constant()) return Support::No(v->name() + " is not a constant");
  }
  return Support::Yes();
}

Support CheckSameBytes(const Node& node, const Target& target) {
  Support support = CheckOperands(node);
  return support ? CheckOpIsView(node, target) : support;
}

std::vector<SameBytes> SameBytesFormats(const Node& node, const Target& target) {
  std::vector<SameBytes> formats = Renamings(node, target);
  if (formats.empty()) formats.push_back(RowMajorOf(node));
  return formats;
}

Support CheckPlacements(const Node& node, const Placement& from, const Placement& to,
                        const Target& target) {
  if (from.space != to.space) return Support::No("its input is in the other memory");
  const bool same = IsSameBytes(node, {from.format, to.format}, target);
  return same ? Support::Yes() : Support::No("its formats differ");
}

}  // namespace onnx_cudnn
