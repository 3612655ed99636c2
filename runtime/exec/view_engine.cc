#include "runtime/exec/view_engine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/ops/transpose.h"

namespace onnx_cudnn {
namespace {

// Bytes: what kernels ask of the addresses they read and write.
constexpr int64_t kPartAlignment = 16;

constexpr Alias kSameBytes = {.output = 0, .input = 0, .offset = 0, .required = true};

class ViewStep final : public Step {
 public:
  absl::Span<const Alias> aliases() const override { return absl::MakeConstSpan(&kSameBytes, 1); }
  bool launches() const override { return false; }
  absl::Status Launch(const LaunchArgs&) const override { return absl::OkStatus(); }
  std::string Save() const override { return ""; }
};

// The inputs lie one behind the other in the output.
class ConcatStep final : public Step {
 public:
  explicit ConcatStep(const Candidate& candidate) {
    const std::vector<const Value*> inputs = BoundaryOf(candidate.nodes).inputs;
    int64_t offset = 0;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      aliases_.push_back({.output = 0,
                          .input = i,
                          .offset = offset,
                          .required = true,
                          .kind = Alias::Kind::kInputInOutput});
      offset += candidate.inputs[i].format.bytes(inputs[i]->dtype());
    }
  }
  absl::Span<const Alias> aliases() const override { return aliases_; }
  bool launches() const override { return false; }
  absl::Status Launch(const LaunchArgs&) const override { return absl::OkStatus(); }
  std::string Save() const override { return ""; }

 private:
  std::vector<Alias> aliases_;
};

bool IsTranspose(const Node& node) { return node.domain().empty() && node.op() == "Transpose"; }
bool IsConcat(const Node& node) { return node.domain().empty() && node.op() == "Concat"; }

// How input and output of a Node lie where both are the same bytes.
struct SameBytes {
  Format in, out;
  bool operator==(const SameBytes&) const = default;
};

SameBytes RowMajorOf(const Node& node) {
  return {Format::RowMajor(node.input(0).dims()), Format::RowMajor(node.output(0).dims())};
}

// The axes of a Transpose's input by the names that its output has for them.
Format Renamed(const Format& format, const std::vector<int64_t>& perm) {
  std::vector<Format::Axis> axes(format.axes().begin(), format.axes().end());
  for (Format::Axis& axis : axes) {
    axis.dim = static_cast<int>(std::find(perm.begin(), perm.end(), axis.dim) - perm.begin());
  }
  return Format::Of(axes);
}

// The Formats between which a Transpose only renames axes.
std::vector<SameBytes> Renamings(const Node& node, const Target& target) {
  const Value& in = node.input(0);
  if (in.elements() == 0) return {RowMajorOf(node)};
  const std::vector<int64_t> perm = TransposePerm(node, in.rank());
  const std::vector<Format> choices = FormatChoices(node.output(0), target);
  std::vector<SameBytes> renamings;
  for (Format& from : FormatChoices(in, target)) {
    Format to = Renamed(from, perm);
    if (std::find(choices.begin(), choices.end(), to) == choices.end()) continue;
    renamings.push_back({std::move(from), std::move(to)});
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

Support CheckConcat(const Node& node, const Target& target) {
  const Value& out = node.output(0);
  if (out.is_graph_output()) return Support::No("its output is a graph output");
  if (out.uses().empty()) return Support::No("its output is not used");
  if (!out.is_static() || BitsOf(out.dtype()) < 8 || out.elements() == 0) {
    return Support::No(absl::StrCat("its output is ", ToString(out.type())));
  }
  for (const Value* v : node.inputs()) {
    Support support =
        v == nullptr ? Support::No("an input is absent") : CheckConcatInput(*v, node, target);
    if (!support) return support;
  }
  return Support::Yes();
}

Support CheckNode(const Node& node, const Target& target) {
  return IsConcat(node) ? CheckConcat(node, target) : CheckOneInOneOut(node, target);
}

// The Format that a part of `extent` along the outermost axis of `whole` has where it lies.
Format PartOf(const Format& whole, int64_t extent) {
  std::vector<Format::Axis> axes(whole.axes().begin(), whole.axes().end());
  axes[0].extent = axes[0].pitch = extent;
  return Format::Of(axes);
}

Support CheckConcatPlacements(const Candidate& candidate) {
  const Node& node = *candidate.nodes[0];
  const Placement& whole = candidate.outputs[0];
  const int64_t axis = node.attrs().Int("axis", 0);
  const int dim = static_cast<int>(axis < 0 ? axis + node.output(0).rank() : axis);
  const absl::Span<const Format::Axis> axes = whole.format.axes();
  if (axes.empty() || axes[0].dim != dim || axes[0].block != 1) {
    return Support::No("its axis is not the outermost of its format");
  }
  int64_t offset = 0;
  for (size_t i = 0; i < candidate.inputs.size(); ++i) {
    const Value& in = node.input(static_cast<int>(i));
    const Placement& part = candidate.inputs[i];
    if (part.space != whole.space || part.format != PartOf(whole.format, in.dim(dim))) {
      return Support::No("its formats differ");
    }
    if (offset % kPartAlignment != 0) {
      return Support::No(absl::StrCat("input ", in.name(), " would begin at byte ", offset,
                                      ", no multiple of ", kPartAlignment));
    }
    offset += part.format.bytes(in.dtype());
  }
  return Support::Yes();
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

bool IsSameBytes(const Node& node, const SameBytes& formats, const Target& target) {
  if (IsTranspose(node)) {
    const std::vector<SameBytes> renamings = Renamings(node, target);
    return std::find(renamings.begin(), renamings.end(), formats) != renamings.end();
  }
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
    if (IsTranspose(anchor)) return ProposeTranspose(anchor, target, sink);
    sink.Add(RowMajorCandidate(*this, anchor, Space::kDevice, target));
  }

  Support Check(const Graph&, const Candidate& candidate, const Target& target) const override {
    if (candidate.nodes.size() != 1) return Support::No("view takes one node at a time");
    const Node& node = *candidate.nodes[0];
    const Support support = CheckNode(node, target);
    if (!support) return support;
    if (candidate.outputs.empty()) return Support::No("its output is not used");
    if (IsConcat(node)) return CheckConcatPlacements(candidate);
    return CheckPlacements(node, candidate.inputs[0], candidate.outputs[0], target);
  }

  Cost Price(const Candidate&, const Target&) const override { return {.from = "no work"}; }

  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    if (IsConcat(*candidate.nodes[0])) return Compiled::As(std::make_shared<ConcatStep>(candidate));
    return Compiled::As(std::make_shared<ViewStep>());
  }

 private:
  void ProposeTranspose(const Node& transpose, const Target& target, CandidateSink& sink) const {
    for (SameBytes& formats : Renamings(transpose, target)) {
      Candidate candidate = RowMajorCandidate(*this, transpose, Space::kDevice, target);
      for (Placement& p : candidate.inputs) p.format = formats.in;
      for (Placement& p : candidate.outputs) p.format = formats.out;
      sink.Add(std::move(candidate));
    }
  }

  void ProposeConcat(const Node& concat, const Target& target, CandidateSink& sink) const {
    Support last = Support::Yes();
    for (const bool channels_last : {false, true}) {
      Candidate candidate = ConcatCandidate(*this, concat, channels_last, target);
      const Support support = CheckConcatPlacements(candidate);
      if (support) return sink.Add(std::move(candidate));
      last = support;
    }
    sink.No(*this, concat, last.reason());
  }
};

}  // namespace

std::unique_ptr<Engine> MakeViewEngine() { return std::make_unique<ViewEngine>(); }

}  // namespace onnx_cudnn
