// How vectors are judged whose outputs are random: ONNX's numbers are NumPy's, which no other
// generator draws.
#pragma once

#include <string>
#include <string_view>

#include "tools/common/expected.h"

namespace onnx_cudnn {

// What random bits that were drawn independently, each with its own probability of a one, add up
// to.
struct Tally {
  double ones = 0;
  double expected = 0, variance = 0;  // of `ones`

  void Add(bool one, double probability);
  // The error: `ones` is more than six deviations from what is expected; empty: none. Correct
  // numbers fail once in 10^8 times.
  std::string Wrong() const;
};

// Checks everything that must hold for the outputs of one Run, whatever was drawn, and adds the
// bits that were drawn to `tally`.
//   given    the vector's inputs
//   found    the outputs; dtypes and dims are those of the vector's
//   returns  the error; empty: none
using RandomRule = std::string (*)(const NamedTensors& given, const NamedTensors& found,
                                   Tally& tally);

// The rule for the vector; nullptr: its outputs are not random.
RandomRule FindRandomRule(std::string_view vector);

// Runs of such a vector: a data set has 10 to 60 elements, too few to tell a share from another.
inline constexpr int kRandomRuns = 100;

}  // namespace onnx_cudnn
