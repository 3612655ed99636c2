#include "passes/partition/measured_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "passes/partition/cost_search.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"

namespace onnx_cudnn {

MeasuredSearch::MeasuredSearch(const CoverSetting& setting, Confirmer& confirmer,
                               const Pricer& pricer, absl::Span<const CoverSearch> searches,
                               Ahead ahead)
    : setting_(setting), confirmer_(confirmer), pricer_(pricer), ahead_(ahead) {
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
    ASSIGN_OR_RETURN(const std::vector<Candidate> ahead, NextIfDearer());
    ASSIGN_OR_RETURN(goes_on, confirmer_.Learn(Wanted(ahead)));
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

// Side by side, unless they write remarks, whose order would be that of the threads.
absl::Status MeasuredSearch::CoverStale() {
  RETURN_IF_ERROR(CheckCancelled());  // only this thread knows
  const auto cover = [](Lane& lane) -> absl::Status {
    Stretch stretch = lane.covers.Whole();
    if (lane.uses_prices()) stretch.prices = lane.search.prices;
    ASSIGN_OR_RETURN(lane.last, lane.covers.Cover(std::move(stretch), lane.search.partitioner));
    return absl::OkStatus();
  };
  const auto n = static_cast<int64_t>(lanes_.size());
  const int64_t grain = setting_.remarks == nullptr ? 1 : n;
  ThreadPool::Default().ParallelFor(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (lanes_[i].is_stale) lanes_[i].status = cover(lanes_[i]);
    }
  });
  for (const Lane& lane : lanes_) RETURN_IF_ERROR(lane.status);
  return absl::OkStatus();
}

// One Candidate of each Signature that is not known: of Greedy's cover first, which is measured
// whole before anything else, those of `ahead` last; in between by the time that they are predicted
// to take in all covers.
std::vector<const Candidate*> MeasuredSearch::Wanted(const std::vector<Candidate>& ahead) const {
  struct Want {
    const Candidate* candidate;
    int rank;
    double us;
  };
  std::vector<Want> wants;
  absl::flat_hash_map<std::string, size_t> index;
  const auto add = [&](const std::vector<Candidate>& cover, int rank) {
    for (const Candidate& candidate : cover) {
      std::string signature = Signature(candidate, setting_.target);
      if (confirmer_.Find(signature) != nullptr) continue;
      const auto [it, added] = index.try_emplace(std::move(signature), wants.size());
      if (added) wants.push_back({&candidate, rank, 0});
      wants[it->second].us += candidate.cost.us;
    }
  };
  for (const Lane& lane : lanes_) add(lane.last, &lane == &lanes_[0] ? 0 : 1);
  add(ahead, 2);
  std::stable_sort(wants.begin(), wants.end(), [](const Want& a, const Want& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.us > b.us;
  });
  std::vector<const Candidate*> wanted;
  for (const Want& want : wants) wanted.push_back(want.candidate);
  return wanted;
}

// By the first search with prices.
absl::StatusOr<std::vector<Candidate>> MeasuredSearch::NextIfDearer() const {
  const auto lane =
      std::find_if(lanes_.begin(), lanes_.end(), [](const Lane& l) { return l.uses_prices(); });
  const std::vector<const Candidate*> wanted = Wanted({});
  const bool asks = ahead_ == Ahead::kYes && lane != lanes_.end() && !wanted.empty();
  if (!asks || pricer_.RanOut()) return std::vector<Candidate>();
  absl::flat_hash_set<std::string> doubted;
  for (const Candidate* candidate : wanted) doubted.insert(Signature(*candidate, setting_.target));
  GraphCovers covers = lane->covers;  // what closes a cycle here does not concern the search
  Stretch stretch = covers.Whole();
  stretch.prices = lane->search.prices;
  stretch.doubted = &doubted;
  return covers.Cover(std::move(stretch), lane->search.partitioner);
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
