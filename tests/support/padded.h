// Graphs padded to buckets (passes/shape_buckets/pad_lengths.h), compared with the same for exact
// shapes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "passes/shape_buckets/pad_lengths.h"

namespace onnx_cudnn {

using Numbers = std::map<std::string, int64_t>;  // of symbols

inline const BucketChoice kAllLengths = {.all = true, .symbols = {}};

// Expects that one padded Graph, made for the first of `runs`, gives the numbers of all. Each run
// has a number for N.
void ExpectPadded(std::string_view text,
                  const std::vector<Numbers>& runs = {{{"N", 5}}, {{"N", 16}}});

// The same for a body that reads `a`, float[3,N,4] whose padding is NaN, and constants `one` and
// `two`.
void ExpectPaddedAfterNan(std::string_view body, std::string_view output = "float[?,?,?] y");

// Expects Unimplemented with `reason`; without `numbers`, for N = 5.
void ExpectNotPadded(std::string_view text, const Numbers& numbers, std::string_view reason);
inline void ExpectNotPadded(std::string_view text, std::string_view reason) {
  ExpectNotPadded(text, {{"N", 5}}, reason);
}

}  // namespace onnx_cudnn
