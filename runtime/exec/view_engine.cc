#include "runtime/exec/view_engine.h"

#include <utility>

#include "runtime/exec/view_parts.h"
#include "runtime/exec/view_same_bytes.h"

namespace onnx_cudnn {
namespace {

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

Support CheckNode(const Node& node, const Target& target) {
  return HasParts(node) ? CheckHasParts(node, target) : CheckSameBytes(node, target);
}

class ViewEngine final : public Engine {
 public:
  std::string_view name() const override { return "view"; }
  bool launches() const override { return false; }

  void Propose(const Graph&, const Node& anchor, const Target& target,
               CandidateSink& sink) const override {
    const Support support = CheckNode(anchor, target);
    if (!support) return sink.No(*this, anchor, support.reason());
    if (HasParts(anchor)) return ProposeParts(*this, anchor, target, sink);
    for (const SameBytes& same : SameBytesFormats(anchor, target)) {
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
    if (HasParts(node)) return CheckParts(candidate);
    return CheckPlacements(node, candidate.inputs[0], candidate.outputs[0], target);
  }

  Cost Price(const Candidate&, const Target&) const override { return {.from = "no work"}; }

  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    std::vector<Alias> aliases = {kSameBytes};
    if (HasParts(*candidate.nodes[0])) aliases = PartAliases(candidate);
    return Compiled::As(std::make_shared<ViewStep>(std::move(aliases)));
  }
};

}  // namespace

std::unique_ptr<Engine> MakeViewEngine() { return std::make_unique<ViewEngine>(); }

}  // namespace onnx_cudnn
