#include "passes/partition/measured_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "passes/partition/cost_search.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

MeasuredSearch::MeasuredSearch(const CoverSetting& setting, Confirmer& confirmer,
                               const Pricer& pricer, absl::Span<const CoverSearch> searches)
    : setting_(setting), confirmer_(confirmer), pricer_(pricer) {
  lanes_.push_back({.search = {Greedy, nullptr}, .covers = GraphCovers(setting)});
  for (const CoverSearch& search : searches) {
    lane_of_.push_back(search.partitioner == Greedy ? 0 : lanes_.size());
    if (search.partitioner == Greedy) continue;
    lanes_.push_back({.search = search, .covers = GraphCovers(setting)});
  }
}

absl::StatusOr<std::vector<std::vector<Candidate>>> MeasuredSearch::Run() {
  std::vector<std::vector<Candidate>> covers(lane_of_.size());
  for (bool goes_on = true; goes_on;) {
    if (pricer_.RanOut()) {
      bool is_decided = false;
      for (Lane& lane : lanes_) RETURN_IF_ERROR(TakeMeasured(lane));
      for (size_t i = 0; i < covers.size(); ++i) {
        const std::vector<Candidate>* decided = Decided(lanes_[lane_of_[i]]);
        if (decided != nullptr) covers[i] = *decided;
        is_decided |= decided != nullptr;
      }
      if (is_decided) return covers;
    }
    RETURN_IF_ERROR(CoverStale());
    const size_t refused = confirmer_.refused().size();
    ASSIGN_OR_RETURN(goes_on, confirmer_.Learn(Wanted()));
    for (Lane& lane : lanes_) {
      lane.covers.NoteRefusals(lane.last);
      lane.is_stale = confirmer_.refused().size() > refused || (goes_on && lane.uses_prices());
      Judge(lane, lanes_[0].last);
      Judge(lane, lane.last);
    }
  }
  for (size_t i = 0; i < covers.size(); ++i) {
    Lane& lane = lanes_[lane_of_[i]];
    if (!lane.best.empty() && !std::isfinite(MeasuredUs(lane, lane.last))) {
      RETURN_IF_ERROR(TakeMeasured(lane));
    }
    covers[i] = lane.best.empty() ? lane.last : lane.best;
  }
  return covers;
}

absl::Status MeasuredSearch::CoverStale() {
  for (Lane& lane : lanes_) {
    if (!lane.is_stale) continue;
    Stretch stretch = lane.covers.Whole();
    if (lane.uses_prices()) stretch.prices = lane.search.prices;
    ASSIGN_OR_RETURN(lane.last, lane.covers.Cover(std::move(stretch), lane.search.partitioner));
  }
  return absl::OkStatus();
}

// One Candidate of each Signature that is not known: of Greedy's cover first, which is measured
// whole before anything else; then by the time that it is predicted to take in all covers.
std::vector<const Candidate*> MeasuredSearch::Wanted() const {
  struct Want {
    const Candidate* candidate;
    bool is_greedys;
    double us;
  };
  std::vector<Want> wants;
  absl::flat_hash_map<std::string, size_t> index;
  for (const Lane& lane : lanes_) {
    for (const Candidate& candidate : lane.last) {
      std::string signature = Signature(candidate, setting_.target);
      if (confirmer_.Find(signature) != nullptr) continue;
      const auto [it, added] = index.try_emplace(std::move(signature), wants.size());
      if (added) wants.push_back({&candidate, &lane == &lanes_[0], 0});
      wants[it->second].us += candidate.cost.us;
    }
  }
  std::stable_sort(wants.begin(), wants.end(), [](const Want& a, const Want& b) {
    return a.is_greedys != b.is_greedys ? a.is_greedys : a.us > b.us;
  });
  std::vector<const Candidate*> wanted;
  for (const Want& want : wants) wanted.push_back(want.candidate);
  return wanted;
}

void MeasuredSearch::Judge(Lane& lane, const std::vector<Candidate>& cover) const {
  if (!lane.uses_prices()) return;
  const double us = MeasuredUs(lane, cover);
  if (us < lane.best_us) lane.best = cover;
  lane.best_us = std::min(us, lane.best_us);
}

// At the prices of the lane; infinite if a Candidate was refused or not measured.
double MeasuredSearch::MeasuredUs(const Lane& lane, const std::vector<Candidate>& cover) const {
  std::vector<Candidate> priced = cover;
  for (Candidate& candidate : priced) {
    const std::string signature = Signature(candidate, setting_.target);
    const Choice* choice = confirmer_.Find(signature);
    const bool is_measured =
        choice != nullptr && choice->compiled.step() != nullptr && choice->us.has_value();
    if (!is_measured) return std::numeric_limits<double>::infinity();
    candidate.cost.us = lane.search.prices->MeasuredUs(signature).value_or(*choice->us);
  }
  return priced.empty() ? std::numeric_limits<double>::infinity()
                        : CoverUs(lane.covers.Whole(), priced);
}

// Judges the cheapest cover of measured Candidates. The budget may end while little of the cheapest
// cover is not measured.
absl::Status MeasuredSearch::TakeMeasured(Lane& lane) {
  if (!lane.uses_prices()) return absl::OkStatus();
  Stretch stretch = lane.covers.Whole();
  stretch.prices = lane.search.prices;
  stretch.only_measured = true;
  const absl::StatusOr<std::vector<Candidate>> chosen =
      lane.covers.Cover(std::move(stretch), lane.search.partitioner);
  if (absl::IsUnimplemented(chosen.status())) return absl::OkStatus();  // some Node has none
  RETURN_IF_ERROR(chosen.status());
  std::vector<const Candidate*> wanted;
  for (const Candidate& candidate : *chosen) wanted.push_back(&candidate);
  RETURN_IF_ERROR(confirmer_.Learn(wanted).status());
  Judge(lane, *chosen);
  return absl::OkStatus();
}

const std::vector<Candidate>* MeasuredSearch::Decided(const Lane& lane) const {
  if (lane.uses_prices()) return lane.best.empty() ? nullptr : &lane.best;
  const auto compiles = [&](const Candidate& candidate) {
    const Choice* choice = confirmer_.Find(Signature(candidate, setting_.target));
    return choice != nullptr && choice->compiled.step() != nullptr;
  };
  const bool all = std::all_of(lane.last.begin(), lane.last.end(), compiles);
  return all && !lane.last.empty() ? &lane.last : nullptr;
}

}  // namespace onnx_cudnn
