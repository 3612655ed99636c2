#include "passes/partition/refine_formats.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "passes/partition/cost_search.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

constexpr double kLeastGainUs = 1e-6;  // less is a matter of rounding

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

  void Refine(size_t c, const std::vector<Proposal>& proposals) {
    for (const Proposal& p : proposals) {
      if (p.candidate.nodes.size() != 1 || !HaveSameSpaces(p.candidate, cover_[c])) continue;
      Candidate other = p.candidate;
      const double us = UsAround(c);
      std::swap(cover_[c], other);
      if (UsAround(c) >= us - kLeastGainUs) std::swap(cover_[c], other);
    }
  }

 private:
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
}

}  // namespace onnx_cudnn
