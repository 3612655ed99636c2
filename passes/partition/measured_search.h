#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/partition/confirm.h"
#include "passes/partition/graph_covers.h"

namespace onnx_cudnn {

// Whether what a search would choose next is asked for too, if what it chose took longer than
// predicted: it is compiled while that is timed.
enum class Ahead : uint8_t { kNo, kYes };

// Covers one Graph by several searches and measures what they choose, all of it at once, until no
// search chooses anything else. A search is repeated only where it may choose otherwise than
// before.
class MeasuredSearch {
 public:
  // The references must outlive it.
  //   setting    with the refusals of `confirmer`
  //   confirmer  asks `pricer`
  MeasuredSearch(const CoverSetting& setting, Confirmer& confirmer, const Pricer& pricer,
                 absl::Span<const CoverSearch> searches, Ahead ahead);

  // Parallel to `searches`: the cheapest measured cover that was met, of Greedy or the search;
  // where the search knows predictions alone or is Greedy, its last one. If the budget ends, the
  // cheapest cover of what is measured is one of them, and a search that has nothing measured gets
  // an empty cover if another one has.
  //   errors  those of the partitioners and of Confirmer::Learn; Cancelled
  absl::StatusOr<std::vector<std::vector<Candidate>>> Run();

 private:
  struct Lane {
    CoverSearch search;
    GraphCovers covers;
    absl::Status status = {};  // of the last search
    std::vector<Candidate> last = {}, best = {};
    double best_us = std::numeric_limits<double>::infinity();
    bool is_stale = true;  // the search may choose otherwise than `last`

    bool uses_prices() const {  // Greedy ranks by size first
      return search.prices != nullptr && search.partitioner != Greedy;
    }
  };

  absl::Status CoverStale();
  std::vector<const Candidate*> Wanted(const std::vector<Candidate>& ahead) const;
  absl::StatusOr<std::vector<Candidate>> NextIfDearer() const;
  void Judge(Lane& lane, const std::vector<Candidate>& cover) const;
  double MeasuredUs(const Lane& lane, const std::vector<Candidate>& cover) const;
  absl::Status TakeMeasured(Lane& lane);
  // nullptr: none that may be the result whatever is measured later.
  const std::vector<Candidate>* Decided(const Lane& lane) const;

  const CoverSetting setting_;
  Confirmer& confirmer_;
  const Pricer& pricer_;
  const Ahead ahead_;
  std::vector<Lane> lanes_;      // the first is Greedy
  std::vector<size_t> lane_of_;  // by search
};

}  // namespace onnx_cudnn
