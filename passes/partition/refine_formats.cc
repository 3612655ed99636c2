#include "passes/partition/refine_formats.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "passes/partition/cost_search.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

constexpr double kRoundingUs = 1e-6;  // gains below are none
constexpr double kLeastGain = 0.5;    // launches; prices are no more exact than that

// The place of a Value in the boundary of a Candidate of the cover.
struct Port {
  size_t candidate;
  size_t index;
};

struct Ends {
  std::vector<Port> made, read;       // at most one makes it
  const Placement* lies = nullptr;    // as made outside the Stretch
  const Placement* wanted = nullptr;  // by readers outside
};

bool HaveSameSpaces(const Candidate& a, const Candidate& b) {
  const auto same = [](const Placement& p, const Placement& q) { return p.space == q.space; };
  return std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(), same) &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), same);
}

class Refiner {
 public:
  Refiner(const Stretch& stretch, std::vector<Candidate>& cover)
      : stretch_(stretch), cover_(cover) {
    for (const auto& [value, placement] : stretch.produced) ends_[value].lies = &placement;
    for (const auto& [value, placement] : stretch.demanded) ends_[value].wanted = &placement;
    for (size_t c = 0; c < cover.size(); ++c) {
      boundaries_.push_back(BoundaryOf(cover[c].nodes));
      const Boundary& boundary = boundaries_.back();
      for (size_t i = 0; i < boundary.inputs.size(); ++i) {
        ends_[boundary.inputs[i]].read.push_back({c, i});
      }
      for (size_t i = 0; i < boundary.outputs.size(); ++i) {
        ends_[boundary.outputs[i]].made.push_back({c, i});
      }
    }
  }

  // Takes what gains anything, since it may be what makes the next Candidate gain.
  void Refine(size_t c, const std::vector<Proposal>& proposals) {
    const Candidate before = cover_[c];
    bool is_changed = false;
    for (const Proposal& p : proposals) {
      if (p.candidate.nodes.size() != 1 || !HaveSameSpaces(p.candidate, before)) continue;
      is_changed |= TakeIfGains(c, p.candidate, kRoundingUs);
    }
    if (is_changed) changed_.push_back({c, before});
  }

  // Takes back what gained too little in the end, the last first.
  void TakeBack() {
    const double least_us = kLeastGain * stretch_.target.info.launch_us;
    for (auto it = changed_.rbegin(); it != changed_.rend(); ++it) {
      TakeIfGains(it->first, it->second, -least_us);
    }
  }

 private:
  // Whether it was taken.
  bool TakeIfGains(size_t c, Candidate other, double least_us) {
    const double us = UsAround(c);
    std::swap(cover_[c], other);
    const bool gains = us - UsAround(c) >= least_us;
    if (!gains) std::swap(cover_[c], other);
    return gains;
  }

  // µs of the Candidate and of the conversions at its boundary.
  double UsAround(size_t c) const {
    double us = cover_[c].cost.us;
    for (const auto* values : {&boundaries_[c].inputs, &boundaries_[c].outputs}) {
      for (const Value* v : *values) us += UsOf(*v);
    }
    return us;
  }

  double UsOf(const Value& value) const {
    const Ends& ends = ends_.at(&value);
    const Placement* lies = ends.lies;
    for (const Port& port : ends.made) lies = &cover_[port.candidate].outputs[port.index];
    std::vector<const Placement*> wanted;
    if (ends.wanted != nullptr) wanted.push_back(ends.wanted);
    for (const Port& port : ends.read) wanted.push_back(&cover_[port.candidate].inputs[port.index]);
    return ConversionsUs(value, lies, wanted, stretch_.target.info);
  }

  const Stretch& stretch_;
  std::vector<Candidate>& cover_;
  std::vector<Boundary> boundaries_;  // parallel to the cover
  absl::flat_hash_map<const Value*, Ends> ends_;
  std::vector<std::pair<size_t, Candidate>> changed_;  // and what was there before
};

}  // namespace

void RefineFormats(const Stretch& stretch, const Proposals& proposals,
                   std::vector<Candidate>& cover) {
  Refiner refiner(stretch, cover);
  for (size_t c = 0; c < cover.size(); ++c) {
    const Node& node = *cover[c].nodes[0];
    if (cover[c].nodes.size() > 1 || TraitsOf(node).anchor) continue;
    refiner.Refine(c, proposals.at()[proposals.PositionOf(&node)]);
  }
  refiner.TakeBack();
}

}  // namespace onnx_cudnn
