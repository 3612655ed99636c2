#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "passes/partition/cost_search.h"
#include "passes/partition/fixed_placements.h"
#include "passes/partition/interleavings.h"
#include "passes/partition/partitioners.h"
#include "passes/partition/proposals.h"
#include "passes/partition/refine_formats.h"
#include "runtime/base/status.h"
#include "runtime/ops/op_table.h"
#include "runtime/plan/grow.h"

namespace onnx_cudnn {
namespace {

constexpr int kAnyStrays = std::numeric_limits<int>::max();

class Cover {
 public:
  // spares_strays: an anchor whose best proposal has several strays takes one that has none
  Cover(const Stretch& stretch, const Proposals& proposals, const FixedPlacements& fixed,
        bool spares_strays)
      : stretch_(stretch),
        proposals_(proposals),
        fixed_(fixed),
        spares_strays_(spares_strays),
        taken_(stretch.nodes.size(), false) {}

  absl::StatusOr<std::vector<Candidate>> Run() {
    std::vector<Candidate> chosen;
    for (const bool anchors : {true, false}) {
      for (size_t i = 0; i < stretch_.nodes.size(); ++i) {
        const Node& node = *stretch_.nodes[i];
        if (taken_[i] || TraitsOf(node).anchor != anchors) continue;
        const Proposal* best = Best(i, kAnyStrays);
        if (best == nullptr) {
          const absl::Status status = proposals_.Unrunnable(node);
          if (stretch_.refusals == nullptr) return status;
          refusals_.push_back(RefusalOf(node, status));
          taken_[i] = true;
          continue;
        }
        if (anchors && Strays(*best) > 1) {
          has_strays_ = true;
          const Proposal* other = spares_strays_ ? Best(i, 0) : nullptr;
          if (other != nullptr) best = other;
        }
        for (const Node* n : best->candidate.nodes) taken_[proposals_.PositionOf(n)] = true;
        chosen.push_back(best->candidate);
      }
    }
    RefineFormats(stretch_, proposals_, chosen);
    return chosen;
  }

  // Of the last Run:
  bool has_strays() const { return has_strays_; }
  const std::vector<NodeRefusal>& refusals() const { return refusals_; }

 private:
  // The best available proposal: by agreement, then size, then price, then the order of the
  // Engines.
  const Proposal* Best(size_t at, int most_strays) const {
    using Rank = std::tuple<int, int, double>;  // smaller is better
    const Proposal* best = nullptr;
    Rank best_rank;
    for (const Proposal& p : proposals_.at()[at]) {
      if (!IsFree(p) || (most_strays < kAnyStrays && Strays(p) > most_strays)) continue;
      const Rank rank = {fixed_.Disagreements(p), -static_cast<int>(p.candidate.nodes.size()),
                         p.candidate.cost.us + fixed_.BorderUs(p)};
      if (best != nullptr && rank >= best_rank) continue;
      best = &p;
      best_rank = rank;
    }
    return best;
  }

  bool IsFree(const Proposal& p) const {
    return std::none_of(p.candidate.nodes.begin(), p.candidate.nodes.end(),
                        [&](const Node* n) { return taken_[proposals_.PositionOf(n)]; });
  }

  // Element-wise Nodes outside that element-wise Nodes of the proposal read. Each is a launch, or
  // several; without the proposal one launch may hold all of them and their readers.
  int Strays(const Proposal& p) const {
    const auto is_stray = [&](const Value* v) { return IsStray(*v, p.candidate.nodes); };
    return static_cast<int>(
        std::count_if(p.boundary.inputs.begin(), p.boundary.inputs.end(), is_stray));
  }

  bool IsStray(const Value& value, absl::Span<const Node* const> nodes) const {
    const Node* node = value.producer();
    if (node == nullptr || !value.is_static()) return false;
    const int position = proposals_.PositionOf(node);
    if (position < 0 || taken_[position] || !IsPointwise(*node)) return false;
    return std::any_of(value.uses().begin(), value.uses().end(), [&](const Use& use) {
      return Contains(nodes, use.node) && IsPointwise(*use.node) &&
             use.node->output(0).is_static() && use.node->output(0).dims() == value.dims();
    });
  }

  const Stretch& stretch_;
  const Proposals& proposals_;
  const FixedPlacements& fixed_;
  const bool spares_strays_;
  std::vector<bool> taken_;
  bool has_strays_ = false;
  std::vector<NodeRefusal> refusals_;
};

// The faster by the prices of two covers; the first if the second failed.
std::vector<Candidate> Faster(const Stretch& stretch, std::vector<Candidate> chosen,
                              absl::StatusOr<std::vector<Candidate>> other) {
  const bool is_faster = other.ok() && CoverUs(stretch, *other) < CoverUs(stretch, chosen);
  return is_faster ? *std::move(other) : chosen;
}

// A cover with Values in Concats as `interleavings` says; nullptr: in none.
absl::StatusOr<std::vector<Candidate>> CoverWith(const Stretch& stretch, const Proposals& proposals,
                                                 const Interleavings* interleavings,
                                                 std::vector<NodeRefusal>& refusals) {
  const FixedPlacements fixed(stretch, proposals, interleavings);
  Cover cover(stretch, proposals, fixed, /*spares_strays=*/false);
  ASSIGN_OR_RETURN(std::vector<Candidate> chosen, cover.Run());
  refusals = cover.refusals();
  if (!cover.has_strays() || !refusals.empty()) return chosen;
  return Faster(stretch, std::move(chosen),
                Cover(stretch, proposals, fixed, /*spares_strays=*/true).Run());
}

}  // namespace

absl::StatusOr<std::vector<Candidate>> Greedy(const Stretch& stretch) {
  const Proposals proposals(stretch, Proposals::BeyondFit::kDrop);
  const Interleavings interleavings(proposals);
  std::vector<NodeRefusal> refusals;
  ASSIGN_OR_RETURN(std::vector<Candidate> chosen, CoverWith(stretch, proposals, nullptr, refusals));
  if (!refusals.empty()) {
    stretch.refusals->insert(stretch.refusals->end(), refusals.begin(), refusals.end());
    return chosen;
  }
  if (interleavings.empty()) return chosen;
  return Faster(stretch, std::move(chosen),
                CoverWith(stretch, proposals, &interleavings, refusals));
}

}  // namespace onnx_cudnn
