#include "tests/cases/emulated.h"

#include <gtest/gtest-spi.h>

#include "tests/emulator/emulated_gpu.h"

namespace onnx_cudnn {

Outcome RunEmulated(const TestVector& vector) {
  testing::TestPartResultArray failures;
  testing::ScopedFakeTestPartResultReporter reporter(
      testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &failures);
  FakeCuda cuda(EmulatedGpu());
  const Outcome outcome =
      RunVector(vector, {.device = DeviceChoice::kCuda, .precision = PrecisionChoice::kStrict});
  if (failures.size() == 0) return outcome;
  return {Outcome::Kind::kFail, failures.GetTestPartResult(0).message()};
}

}  // namespace onnx_cudnn
