#include "runtime/exec/view_engine.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/transpose.h"

namespace onnx_cudnn {
namespace {

// Bytes: what kernels ask of the addresses they read and write.
constexpr int64_t kPartAlignment = 16;

constexpr const char* kInnerAxis = "its axis is not the outermost of its format";

constexpr Alias kSameBytes = {.output = 0, .input = 0, .offset = 0, .required = true};

class ViewStep final : public Step {
 public:
  explicit ViewStep(std::vector<Alias> aliases) : aliases_(std::move(aliases)) {}
  absl::Span<const Alias> aliases() const override { return aliases_; }
  bool launches() const override { return false; }
  absl::Status Launch(const LaunchArgs&) const override { return absl::OkStatus(); }
  std::string Save() const override { return ""; }

 private:
  const std::vector<Alias> aliases_;
};

bool IsTranspose(const Node& node) { return node.domain().empty() && node.op() == "Transpose"; }
bool IsConcat(const Node& node) { return node.domain().empty() && node.op() == "Concat"; }
bool IsSlice(const Node& node) { return node.domain().empty() && node.op() == "Slice"; }
// Whether its outputs are parts of its input.
bool IsCut(const Node& node) {
  return IsSlice(node) || (node.domain().empty() && node.op() == "Split");
}

// How input and output of a Node lie where both are the same bytes.
struct SameBytes {
  Format in, out;
  bool operator==(const SameBytes&) const = default;
};

SameBytes RowMajorOf(const Node& node) {
  return {Format::RowMajor(node.input(0).dims()), Format::RowMajor(node.output(0).dims())};
}

// The dim of the output that each one of the input becomes where a Node moves none past another, or
// is a Transpose; those of one element are left out of Formats, and stand for anything.
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

// The Formats between which a Node only renames axes.
std::vector<SameBytes> Renamings(const Node& node, const Target& target) {
  const Value& in = node.input(0);
  if (in.elements() == 0) return {RowMajorOf(node)};
  const std::optional<std::vector<int>> to = OutputDims(node);
  if (!to.has_value()) return {};
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
  if (node.domain() == kOwnDomain) {
    return node.op() == "Reformat" ? Support::Yes() : Support::No("it crosses memories");
  }
  if (!node.domain().empty()) return Support::No("not an op that keeps bytes");
  if (IsTranspose(node)) return CheckTranspose(node, target);
  if (node.op() == "Dropout") return CheckDropout(node);
  constexpr std::array kViews = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"};
  const bool is_view = std::find(kViews.begin(), kViews.end(), node.op()) != kViews.end();
  return is_view ? Support::Yes() : Support::No("not an op that keeps bytes");
}

// Whether all inputs but the first are constants.
Support CheckParameters(const Node& node) {
  for (const Value* v : node.inputs().subspan(1)) {
    if (v != nullptr && !v->is_constant()) return Support::No(v->name() + " is not a constant");
  }
  return Support::Yes();
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

Support CheckOneInOneOut(const Node& node, const Target& target) {
  Support support = CheckOperands(node);
  return support ? CheckOpIsView(node, target) : support;
}

// Whether `value` may be written right into the output of `concat`: a Step writes it into bytes of
// its own, that nothing else claims.
Support CheckConcatInput(const Value& value, const Node& concat, const Target& target) {
  const auto no = [&](std::string_view why) {
    return Support::No(absl::StrCat("input ", value.name(), " ", why));
  };
  if (value.producer() == nullptr) return no("is no result of a node");
  if (value.is_graph_output()) return no("is a graph output");
  if (CheckOneInOneOut(*value.producer(), target)) return no("shows the bytes of another value");
  int times = 0;
  for (const Use& use : value.uses()) {
    if (use.node == &concat) ++times;
    if (IsConcat(*use.node) && use.node->id() < concat.id()) return no("lies in another Concat");
  }
  return times == 1 ? Support::Yes() : no("stands in it twice");
}

// The axis along which the parts of a Concat or Split lie.
int AxisOf(const Node& node) {
  const Value& whole = IsConcat(node) ? node.output(0) : node.input(0);
  return static_cast<int>(NormalizedAxis(node.attrs().Int("axis", 0), whole.rank()));
}

bool IsOutermost(int dim, const Format& format) {
  return !format.axes().empty() && format.axes()[0].dim == dim;
}

// Whether parts of it can lie in memory.
Support CheckOutput(const Value& out) {
  if (out.is_graph_output()) return Support::No("its output is a graph output");
  if (out.is_static() && BitsOf(out.dtype()) >= 8 && out.elements() > 0) return Support::Yes();
  return Support::No(absl::StrCat("its output is ", ToString(out.type())));
}

Support CheckConcat(const Node& node, const Target& target) {
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

// The elements of a constant; none where it is absent.
std::vector<int64_t> IntsAt(const Node& node, int input) {
  if (!node.has_input(input)) return {};
  return ToInts(node.input(input).constant()).value_or(std::vector<int64_t>());
}

// What a Slice of constant parameters takes first; nullopt where that and its output contradict
// each other.
std::optional<Dims> BeginOfSlice(const Node& slice) {
  const Value& in = slice.input(0);
  const std::vector<int64_t> starts = IntsAt(slice, 1), axes = IntsAt(slice, 3);
  if (slice.has_input(3) && axes.size() != starts.size()) return std::nullopt;
  Dims begin(in.rank(), 0);
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis =
        slice.has_input(3) ? NormalizedAxis(axes[i], in.rank()) : static_cast<int64_t>(i);
    if (axis < 0 || axis >= in.rank()) return std::nullopt;
    const int64_t extent = in.dim(static_cast<int>(axis));
    const int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i];
    begin[axis] = std::clamp<int64_t>(start, 0, extent);
  }
  for (int d = 0; d < in.rank(); ++d) {
    if (begin[d] + slice.output(0).dim(d) > in.dim(d)) return std::nullopt;
  }
  return begin;
}

Support CheckSlice(const Node& slice) {
  const std::vector<int64_t> steps = IntsAt(slice, 4);
  if (std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 1; })) {
    return Support::No("its steps are not all 1");
  }
  return BeginOfSlice(slice).has_value() ? Support::Yes()
                                         : Support::No("its output is not what it takes");
}

// Whether a Concat has `value` written into its output: then it can lie nowhere else.
bool LiesInConcat(const Value& value, const Target& target) {
  return std::any_of(value.uses().begin(), value.uses().end(), [&](const Use& use) {
    return IsConcat(*use.node) && CheckConcat(*use.node, target);
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

Support CheckNode(const Node& node, const Target& target) {
  if (IsConcat(node)) return CheckConcat(node, target);
  return IsCut(node) ? CheckCut(node, target) : CheckOneInOneOut(node, target);
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

// The index of the whole's element that is the first one of `part`.
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

// Into the bytes of the whole.
int64_t OffsetOf(const Node& node, const Parts& parts, const Value& part) {
  return BytesOf(part.dtype(), parts.whole_at.format.Offset(BeginOf(node, part)));
}

// The Format that a part has where it lies; nullopt where others lie between its bytes.
std::optional<Format> PartOf(const Format& format, const Value& whole, const Value& part) {
  std::vector<Format::Axis> axes(format.axes().begin(), format.axes().end());
  bool is_outermost = true;
  for (Format::Axis& axis : axes) {
    const int64_t extent = part.dim(axis.dim);
    if (extent != whole.dim(axis.dim)) {
      if (!is_outermost || axis.extent != whole.dim(axis.dim)) return std::nullopt;
      axis.extent = axis.pitch = extent;
    }
    is_outermost &= axis.extent == 1;
  }
  return Format::Of(axes);
}

Support CheckParts(const Candidate& candidate) {
  const Node& node = *candidate.nodes[0];
  const Parts parts = PartsOf(candidate);
  for (size_t i = 0; i < parts.values.size(); ++i) {
    const Value& part = *parts.values[i];
    const std::optional<Format> format = PartOf(parts.whole_at.format, parts.whole, part);
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

std::vector<Alias> AliasesOf(const Candidate& candidate) {
  const Node& node = *candidate.nodes[0];
  if (!IsConcat(node) && !IsCut(node)) return {kSameBytes};
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

// Every Value in the same kind of Format.
Candidate ConcatCandidate(const Engine& engine, const Node& node, bool channels_last,
                          const Target& target) {
  Candidate candidate = RowMajorCandidate(engine, node, Space::kDevice, target);
  if (!channels_last) return candidate;
  const Boundary boundary = BoundaryOf(candidate.nodes);
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    candidate.inputs[i].format = Format::ChannelsLast(boundary.inputs[i]->dims());
  }
  candidate.outputs[0].format = Format::ChannelsLast(boundary.outputs[0]->dims());
  return candidate;
}

// The input in the Format `whole`, the outputs as they lie there where they can.
Candidate CutCandidate(const Engine& engine, const Node& node, const Format& whole,
                       const Target& target) {
  Candidate candidate = RowMajorCandidate(engine, node, Space::kDevice, target);
  candidate.inputs[0].format = whole;
  const Boundary boundary = BoundaryOf(candidate.nodes);
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    std::optional<Format> part = PartOf(whole, node.input(0), *boundary.outputs[i]);
    if (part.has_value()) candidate.outputs[i].format = *std::move(part);
  }
  return candidate;
}

bool IsSameBytes(const Node& node, const SameBytes& formats, const Target& target) {
  const std::vector<SameBytes> renamings = Renamings(node, target);
  if (std::find(renamings.begin(), renamings.end(), formats) != renamings.end()) return true;
  if (IsTranspose(node)) return false;
  const bool is_unchanged = node.input(0).dims() == node.output(0).dims();
  return (is_unchanged && formats.in == formats.out) || formats == RowMajorOf(node);
}

Support CheckPlacements(const Node& node, const Placement& from, const Placement& to,
                        const Target& target) {
  if (from.space != to.space) return Support::No("its input is in the other memory");
  const bool same = IsSameBytes(node, {from.format, to.format}, target);
  return same ? Support::Yes() : Support::No("its formats differ");
}

class ViewEngine final : public Engine {
 public:
  std::string_view name() const override { return "view"; }

  void Propose(const Graph&, const Node& anchor, const Target& target,
               CandidateSink& sink) const override {
    const Support support = CheckNode(anchor, target);
    if (!support) return sink.No(*this, anchor, support.reason());
    if (IsConcat(anchor)) return ProposeConcat(anchor, target, sink);
    if (IsCut(anchor)) return ProposeCut(anchor, target, sink);
    std::vector<SameBytes> formats = Renamings(anchor, target);
    if (formats.empty()) formats.push_back(RowMajorOf(anchor));
    for (SameBytes& same : formats) {
      Candidate candidate = RowMajorCandidate(*this, anchor, Space::kDevice, target);
      for (Placement& p : candidate.inputs) p.format = same.in;
      for (Placement& p : candidate.outputs) p.format = same.out;
      sink.Add(std::move(candidate));
    }
  }

  Support Check(const Graph&, const Candidate& candidate, const Target& target) const override {
    if (candidate.nodes.size() != 1) return Support::No("view takes one node at a time");
    const Node& node = *candidate.nodes[0];
    const Support support = CheckNode(node, target);
    if (!support) return support;
    if (candidate.outputs.empty()) return Support::No("its output is not used");
    if (IsConcat(node) || IsCut(node)) return CheckParts(candidate);
    return CheckPlacements(node, candidate.inputs[0], candidate.outputs[0], target);
  }

  Cost Price(const Candidate&, const Target&) const override { return {.from = "no work"}; }

  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    return Compiled::As(std::make_shared<ViewStep>(AliasesOf(candidate)));
  }

 private:
  void ProposeConcat(const Node& concat, const Target& target, CandidateSink& sink) const {
    Support last = Support::Yes();
    for (const bool channels_last : {false, true}) {
      Candidate candidate = ConcatCandidate(*this, concat, channels_last, target);
      const Support support = CheckParts(candidate);
      if (support) return sink.Add(std::move(candidate));
      last = support;
    }
    sink.No(*this, concat, last.reason());
  }

  void ProposeCut(const Node& cut, const Target& target, CandidateSink& sink) const {
    std::string why_not;  // in the first Format, row-major
    bool is_proposed = false;
    for (const Format& whole : FormatChoices(cut.input(0), target)) {
      Candidate candidate = CutCandidate(*this, cut, whole, target);
      const Support support = CheckParts(candidate);
      if (support) {
        sink.Add(std::move(candidate));
        is_proposed = true;
      } else if (why_not.empty()) {
        why_not = support.reason();
      }
    }
    if (!is_proposed) sink.No(*this, cut, why_not);
  }
};

}  // namespace

std::unique_ptr<Engine> MakeViewEngine() { return std::make_unique<ViewEngine>(); }

}  // namespace onnx_cudnn
