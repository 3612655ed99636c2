#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// The elements as doubles (integers of 64 bits rounded). Unimplemented: strings, complex and packed
// types, floats of 8 bits.
absl::StatusOr<std::vector<double>> ElementsAsDoubles(const HostTensor& tensor);

struct Summary {
  int64_t elements = 0;
  int64_t not_finite = 0;             // NaN or infinite
  double min = 0, max = 0, mean = 0;  // of the finite ones; 0 when there are none
};
Summary Summarize(const std::vector<double>& values);

struct Score {
  int64_t index;  // along the last axis
  double value;
};
// The `k` largest of each row along the last axis of `dims`, largest first, the lower index first
// at equal values.
std::vector<std::vector<Score>> TopScores(const std::vector<double>& values, const Dims& dims,
                                          int k);

struct Difference {
  double largest = 0;           // |found − expected|; infinite where only one is NaN
  double largest_expected = 0;  // |expected|, finite ones
  int64_t beyond = 0;  // elements beyond rtol × |expected| + atol × largest_expected; equal
                       // infinities and NaNs are none
  std::string type;    // set when dtype or dims differ: "expected f32[1,2], found f32[2]"; nothing
                       // else was compared then
  bool ok() const { return type.empty() && beyond == 0; }
};
// Tolerances are for floats: other dtypes are compared exactly. Errors as ElementsAsDoubles'.
absl::StatusOr<Difference> Compare(const HostTensor& found, const HostTensor& expected, double rtol,
                                   double atol);

// Times in ms by nearest rank; of at least one run.
struct Timing {
  double min = 0, median = 0, mean = 0, p90 = 0, p99 = 0;
};
Timing SummarizeTimes(std::vector<double> ms);

}  // namespace onnx_cudnn
