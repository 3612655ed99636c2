// The times of kernels next to the device's own copy of as many bytes. Tests run if
// ONNX_CUDNN_SPEED=FILE is set; the file receives a JSON list of {"case", "dtype", "format",
// "variant", "bytes", "us", "share_of_copy"} and {"case", "batch", "us", "floor_us"}, for conv_gemm
// with "variant". (Records up to 2026-11-23 call it "way".)
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "runtime/exec/step_runner.h"
#include "tests/gpu/kernel_test.h"

namespace onnx_cudnn {

constexpr double kLeastShare = 0.8;       // of the speed of a copy
constexpr double kLeastNormShare = 0.85;  // norms and softmax of rows

struct SpeedCase {
  std::string name, text, anchor;  // T is the dtype in the text
  std::vector<std::string> dtypes = {"float", "float16"};
  // Lower where that is not reached: it must not get worse.
  double least_share = kLeastShare, least_share_channels_last = kLeastShare;
  bool has_weights = false;  // inputs whose names start with w are constants
};

class SpeedTest : public KernelTest {
 protected:
  static constexpr int kLaunches = 5;  // of a measurement

  void SetUp() override;
  static void TearDownTestSuite();
  // Of all suites of this process.
  static std::vector<std::string>& records();

  struct Speed {
    std::string variant;
    int64_t bytes = 0;
    double us = std::numeric_limits<double>::infinity(), share_of_copy = 0;
  };

  // Microseconds for the device's own copy to read and write `wanted` bytes together.
  absl::StatusOr<double> CopyUs(int64_t wanted);

  // Unimplemented: the Engine does not support it.
  absl::StatusOr<double> MeasureVariant(
      const Candidate& candidate, const Variant& variant, int launches = kLaunches,
      StepRunner::Constants constants = StepRunner::Constants::kAsTheyAre);

  // Measures the Candidates of all Nodes, of which there must be one, in every Variant; the best
  // one must reach the share.
  void Measure(const SpeedCase& test, const std::string& dtype);
  void MeasureAll(const std::vector<SpeedCase>& tests);
  void Record(const std::string& name, const std::string& dtype, const Candidate& candidate,
              const Speed& speed);

  // Of inputs and outputs; what begins with a Slice reads what it writes.
  static int64_t BytesOf(const Candidate& candidate);
};

}  // namespace onnx_cudnn
