#include <algorithm>
#include <tuple>
#include <utility>

#include "passes/partition/fixed_placements.h"
#include "passes/partition/partitioners.h"
#include "passes/partition/proposals.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

class Cover {
 public:
  explicit Cover(const Stretch& stretch)
      : stretch_(stretch),
        proposals_(stretch, Proposals::BeyondFit::kDrop),
        fixed_(stretch, proposals_),
        taken_(stretch.nodes.size(), false) {}

  absl::StatusOr<std::vector<Candidate>> Run() {
    for (const bool anchors : {true, false}) {
      for (size_t i = 0; i < stretch_.nodes.size(); ++i) {
        const Node& node = *stretch_.nodes[i];
        if (taken_[i] || TraitsOf(node).anchor != anchors) continue;
        Proposal* best = Best(i);
        if (best == nullptr) {
          const absl::Status status = proposals_.Unrunnable(node);
          if (stretch_.refusals == nullptr) return status;
          stretch_.refusals->push_back(RefusalOf(node, status));
          taken_[i] = true;
          continue;
        }
        for (const Node* n : best->candidate.nodes) taken_[proposals_.PositionOf(n)] = true;
        chosen_.push_back(std::move(best->candidate));  // not read any more: its anchor is covered
      }
    }
    return std::move(chosen_);
  }

 private:
  // The best available proposal: by agreement, then size, then price, then the order of the
  // Engines.
  Proposal* Best(size_t anchor) {
    using Rank = std::tuple<int, int, double>;  // smaller is better
    Proposal* best = nullptr;
    Rank best_rank;
    for (Proposal& p : proposals_.at()[anchor]) {
      if (!IsFree(p)) continue;
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

  const Stretch& stretch_;
  Proposals proposals_;
  const FixedPlacements fixed_;
  std::vector<bool> taken_;
  std::vector<Candidate> chosen_;
};

}  // namespace

absl::StatusOr<std::vector<Candidate>> Greedy(const Stretch& stretch) {
  return Cover(stretch).Run();
}

}  // namespace onnx_cudnn
