#pragma once

#include <string>
#include <vector>

#include "runtime/exec/compare.h"  // ElementsAsDoubles, Compare
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

struct Summary {
  int64_t elements = 0;
  int64_t not_finite = 0;             // count of NaN and infinite elements
  double min = 0, max = 0, mean = 0;  // over the finite ones; 0 if there are none
};
Summary Summarize(const std::vector<double>& values);

struct Score {
  int64_t index;  // position along the last axis
  double value;
};
// The `k` largest elements of each row along the last axis of `dims`, largest first; at equal
// values the lower index first.
std::vector<std::vector<Score>> TopScores(const std::vector<double>& values, const Dims& dims,
                                          int k);

// Times in ms; percentiles by nearest rank. Of at least one run.
struct Timing {
  double min = 0, median = 0, mean = 0, p90 = 0, p95 = 0, p99 = 0;
};
Timing SummarizeTimes(std::vector<double> ms);

}  // namespace onnx_cudnn
