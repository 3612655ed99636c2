#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace onnx_cudnn {

// The probability of each class from decisions between pairs of them.
//   decisions  of the pairs (i,j), i < j, in order; large: i
//   a, b       of each pair: the probability of i is 1 / (1 + exp(a decision + b))
// The second method of Wu, Lin and Weng, "Probability estimates for multi-class classification by
// pairwise coupling" (JMLR 5, 2004), with libsvm's bound of iterations and tolerance, which decide
// the last digits.
std::vector<double> CoupledProbabilities(absl::Span<const double> decisions,
                                         absl::Span<const float> a, absl::Span<const float> b,
                                         int64_t classes);

}  // namespace onnx_cudnn
