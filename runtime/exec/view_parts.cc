#include "runtime/exec/view_parts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/exec/view_same_bytes.h"
#include "runtime/ops/checks.h"
#include "runtime/plan/interleaved.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {
namespace {

constexpr const char* kInnerAxis = "its axis is not the outermost of its format";

bool IsConcat(const Node& node) { return node.domain().empty() && node.op() == "Concat"; }
bool IsSlice(const Node& node) { return node.domain().empty() && node.op() == "Slice"; }
// Whether its outputs are parts of its input.
bool IsCut(const Node& node) {
  return IsSlice(node) || (node.domain().empty() && node.op() == "Split");
}

// Whether `value` can be written directly to the output of `concat`: a Step writes it, and it does
// not share its bytes with another Value.
Support CheckConcatInput(const Value& value, const Node& concat, const Target& target) {
  if (Support support = CheckJoined(value, concat); !support) return support;
  if (!CheckSameBytes(*value.producer(), target)) return Support::Yes();
  return Support::No(absl::StrCat("input ", value.name(), " shows the bytes of another value"));
}

// The axis along which a Concat or Split joins or splits.
int AxisOf(const Node& node) {
  const Value& whole = IsConcat(node) ? node.output(0) : node.input(0);
  return static_cast<int>(NormalizedAxis(node.attrs().Int("axis", 0), whole.rank()));
}

bool IsOutermost(int dim, const Format& format) {
  return !format.axes().empty() && format.axes()[0].dim == dim;
}

// Whether parts of `out` can be contiguous in memory.
Support CheckOutput(const Value& out) {
  if (out.is_graph_output()) return Support::No("its output is a graph output");
  if (out.is_static() && BitsOf(out.dtype()) >= 8 && out.elements() > 0) return Support::Yes();
  return Support::No(absl::StrCat("its output is ", ToString(out.type())));
}

// Whether the inputs can be contiguous in the output.
Support CheckContiguousConcat(const Node& node, const Target& target) {
  const Value& out = node.output(0);
  if (Support support = CheckOutput(out); !support) return support;
  if (out.uses().empty()) return Support::No("its output is not used");
  for (const Value* v : node.inputs()) {
    Support support =
        v == nullptr ? Support::No("an input is absent") : CheckConcatInput(*v, node, target);
    if (!support) return support;
  }
  const Dims dims = out.dims();
  const int axis = AxisOf(node);
  const bool is_outermost =
      IsOutermost(axis, Format::RowMajor(dims)) || IsOutermost(axis, Format::ChannelsLast(dims));
  return is_outermost ? Support::Yes() : Support::No(kInnerAxis);
}

// Interleaved inputs are for GPUs: Steps on the host read and write row-major.
Support CheckConcat(const Node& node, const Target& target) {
  Support support = CheckContiguousConcat(node, target);
  if (support || target.info.compute_capability == 0) return support;
  return support.reason() == kInnerAxis ? CheckInterleaves(node) : support;
}

Support CheckSlice(const Node& slice) {
  const std::vector<int64_t> steps = IntsAt(slice, 4);
  if (std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 1; })) {
    return Support::No("its steps are not all 1");
  }
  return BeginOfSlice(slice).has_value() ? Support::Yes()
                                         : Support::No("its output is not what it takes");
}

// Whether `value` is contiguous in the output of a Concat, and so cannot be part of anything else.
bool LiesInConcat(const Value& value, const Target& target) {
  return std::any_of(value.uses().begin(), value.uses().end(), [&](const Use& use) {
    return IsConcat(*use.node) && CheckContiguousConcat(*use.node, target);
  });
}

Support CheckCut(const Node& node, const Target& target) {
  if (!node.has_input(0)) return Support::No("it has no operand");
  if (node.input(0).is_constant()) return Support::No("its input is a constant");
  if (!node.input(0).is_static()) return Support::No("its input is not static");
  if (Support support = CheckParameters(node); !support) return support;
  for (const Value* out : node.outputs()) {
    Support support = out == nullptr ? Support::No("an output is absent") : CheckOutput(*out);
    if (!support) return support;
    if (LiesInConcat(*out, target)) return Support::No("its output lies in that of a Concat");
  }
  return IsSlice(node) ? CheckSlice(node) : Support::Yes();
}

// The output of a Concat and its inputs, or the input of a Slice or Split and its outputs.
struct Parts {
  const Value& whole;
  const Placement& whole_at;
  std::vector<const Value*> values;
  const std::vector<Placement>& at;  // parallel to `values`
};

Parts PartsOf(const Candidate& candidate) {
  const Boundary boundary = BoundaryOf(candidate.nodes);
  if (IsConcat(*candidate.nodes[0])) {
    return {*boundary.outputs[0], candidate.outputs[0], boundary.inputs, candidate.inputs};
  }
  return {*boundary.inputs[0], candidate.inputs[0], boundary.outputs, candidate.outputs};
}

// The index of the first element of `part` in the whole.
Dims BeginOf(const Node& node, const Value& part) {
  if (IsSlice(node)) return *BeginOfSlice(node);
  Dims begin(part.rank(), 0);
  const int axis = AxisOf(node);
  for (const Value* v : IsConcat(node) ? node.inputs() : node.outputs()) {
    if (v == &part) break;
    begin[axis] += v->dim(axis);
  }
  return begin;
}

// The offset in bytes of `part` in the whole.
int64_t OffsetOf(const Node& node, const Parts& parts, const Value& part) {
  return BytesOf(part.dtype(), parts.whole_at.format.Offset(BeginOf(node, part)));
}

// Whether the parts of a Node may be interleaved in the whole.
enum class Interleaving : uint8_t { kNo, kYes };
Interleaving InterleavingOf(const Node& node) {
  return IsConcat(node) ? Interleaving::kYes : Interleaving::kNo;
}

// The Format of a part within the whole; nullopt: it would be interleaved with other parts and may
// not.
std::optional<Format> PartOf(const Format& format, const Value& whole, const Value& part,
                             Interleaving interleaving) {
  std::vector<Format::Axis> axes(format.axes().begin(), format.axes().end());
  bool is_outermost = true;
  for (Format::Axis& axis : axes) {
    const int64_t extent = part.dim(axis.dim);
    if (extent != whole.dim(axis.dim)) {
      const bool is_innermost = &axis == &axes.back();
      const bool may_be = is_outermost || (is_innermost && interleaving == Interleaving::kYes);
      if (!may_be || axis.extent != whole.dim(axis.dim)) return std::nullopt;
      axis.extent = extent;
      if (is_outermost) axis.pitch = extent;
    }
    is_outermost &= axis.extent == 1;
  }
  return Format::Of(axes);
}

Format RowMajorOf(const Value& value) { return Format::RowMajor(value.dims()); }
Format ChannelsLastOf(const Value& value) { return Format::ChannelsLast(value.dims()); }
Format InterleavedOf(const Value& value) {
  return InterleavedFormat(value).value_or(ChannelsLastOf(value));
}

Candidate ConcatCandidate(const Engine& engine, const Node& node,
                          Format (*format_of)(const Value& value), const Target& target) {
  Candidate candidate = RowMajorCandidate(engine, node, Space::kDevice, target);
  const Boundary boundary = BoundaryOf(candidate.nodes);
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    candidate.inputs[i].format = format_of(*boundary.inputs[i]);
  }
  candidate.outputs[0].format = format_of(*boundary.outputs[0]);
  return candidate;
}

// The input in the Format `whole`, the outputs as parts of it where possible.
Candidate CutCandidate(const Engine& engine, const Node& node, const Format& whole,
                       const Target& target) {
  Candidate candidate = RowMajorCandidate(engine, node, Space::kDevice, target);
  candidate.inputs[0].format = whole;
  const Boundary boundary = BoundaryOf(candidate.nodes);
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    std::optional<Format> part =
        PartOf(whole, node.input(0), *boundary.outputs[i], Interleaving::kNo);
    if (part.has_value()) candidate.outputs[i].format = *std::move(part);
  }
  return candidate;
}

void ProposeConcat(const Engine& engine, const Node& concat, const Target& target,
                   CandidateSink& sink) {
  std::vector<Format (*)(const Value&)> choices = {RowMajorOf, ChannelsLastOf};
  if (target.info.compute_capability > 0 && CheckInterleaves(concat)) {
    choices = {RowMajorOf, InterleavedOf};
  }
  Support last = Support::Yes();
  bool is_proposed = false;
  for (const auto& format_of : choices) {
    const auto is_same = [&](const Value* v) {
      return v == nullptr || format_of(*v) == choices[0](*v);
    };
    const bool repeats = is_same(&concat.output(0)) &&
                         std::all_of(concat.inputs().begin(), concat.inputs().end(), is_same);
    if (format_of != choices[0] && repeats) continue;
    Candidate candidate = ConcatCandidate(engine, concat, format_of, target);
    const Support support = CheckParts(candidate);
    if (support) {
      sink.Add(std::move(candidate));
      is_proposed = true;
    } else {
      last = support;
    }
  }
  if (!is_proposed) sink.No(engine, concat, last.reason());
}

void ProposeCut(const Engine& engine, const Node& cut, const Target& target, CandidateSink& sink) {
  std::string why_not;  // for the first Format, row-major
  bool is_proposed = false;
  for (const Format& whole : FormatChoices(cut.input(0), target)) {
    Candidate candidate = CutCandidate(engine, cut, whole, target);
    const Support support = CheckParts(candidate);
    if (support) {
      sink.Add(std::move(candidate));
      is_proposed = true;
    } else if (why_not.empty()) {
      why_not = support.reason();
    }
  }
  if (!is_proposed) sink.No(engine, cut, why_not);
}

}  // namespace

bool HasParts(const Node& node) { return IsConcat(node) || IsCut(node); }

Support CheckHasParts(const Node& node, const Target& target) {
  return IsConcat(node) ? CheckConcat(node, target) : CheckCut(node, target);
}

Support CheckParts(const Candidate& candidate) {
  const Node& node = *candidate.nodes[0];
  const Parts parts = PartsOf(candidate);
  for (size_t i = 0; i < parts.values.size(); ++i) {
    const Value& part = *parts.values[i];
    const std::optional<Format> format =
        PartOf(parts.whole_at.format, parts.whole, part, InterleavingOf(node));
    if (!format.has_value()) return Support::No(kInnerAxis);
    if (parts.at[i].space != parts.whole_at.space || parts.at[i].format != *format) {
      return Support::No("its formats differ");
    }
    const int64_t offset = OffsetOf(node, parts, part);
    if (offset % kPartAlignment == 0) continue;
    return Support::No(absl::StrCat(IsConcat(node) ? "input " : "output ", part.name(),
                                    " would begin at byte ", offset, ", no multiple of ",
                                    kPartAlignment));
  }
  return Support::Yes();
}

std::vector<Alias> PartAliases(const Candidate& candidate) {
  const Node& node = *candidate.nodes[0];
  const Parts parts = PartsOf(candidate);
  std::vector<Alias> aliases;
  for (int i = 0; i < static_cast<int>(parts.values.size()); ++i) {
    const int64_t offset = OffsetOf(node, parts, *parts.values[i]);
    Alias alias{.output = i, .input = 0, .offset = offset, .required = true};
    if (IsConcat(node)) {
      alias.kind = Alias::Kind::kInputInOutput;
      std::swap(alias.output, alias.input);
    }
    aliases.push_back(alias);
  }
  return aliases;
}

void ProposeParts(const Engine& engine, const Node& node, const Target& target,
                  CandidateSink& sink) {
  if (IsConcat(node)) return ProposeConcat(engine, node, target, sink);
  ProposeCut(engine, node, target, sink);
}

}  // namespace onnx_cudnn
