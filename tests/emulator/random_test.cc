// Random graphs on an emulated GPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "runtime/base/status.h"
#include "runtime/graph/print.h"
#include "tests/emulator/emulated_gpu.h"
#include "tests/random/executions.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

// 1,000, or the number in ONNX_CUDNN_RANDOM_SEEDS.
uint64_t Seeds() {
  const char* asked = std::getenv("ONNX_CUDNN_RANDOM_SEEDS");
  uint64_t seeds = 1000;
  return asked == nullptr || absl::SimpleAtoi(asked, &seeds) ? seeds : 0;
}

TensorView ViewOf(const HostTensor& tensor) {
  return {.data = const_cast<void*>(tensor.raw()),
          .dtype = tensor.dtype(),
          .shape = {tensor.dims().begin(), tensor.dims().end()}};
}

HostTensor TensorOf(const Tensor& tensor) {
  HostTensor copy =
      HostTensor::Allocate(tensor.dtype(), Dims(tensor.shape().begin(), tensor.shape().end()));
  std::memcpy(copy.mutable_raw(), tensor.raw(), copy.bytes());
  return copy;
}

// Two runs; the second one is captured.
absl::StatusOr<Answer> RunOnEmulatedGpu(const RandomCase& c, PrecisionChoice precision) {
  FakeCuda cuda(EmulatedGpu());
  ASSIGN_OR_RETURN(
      const Session session,
      SessionMaker::Make(c.graph.Clone(), {.device = DeviceChoice::kCuda, .precision = precision}));
  const std::vector<HostTensor> inputs = c.Inputs();
  std::vector<NamedView> views;
  for (const HostTensor& input : inputs) views.emplace_back(ViewOf(input));
  Answer answer;
  for (int run = 0; run < 2; ++run) {
    auto outputs = session.Run(views);
    if (!outputs.ok()) return absl::InternalError(outputs.error().message);
    answer.outputs.clear();
    for (const Tensor& output : outputs.value()) answer.outputs.push_back(TensorOf(output));
  }
  return answer;
}

void ExpectMeaningKept(DType lowest, PrecisionChoice precision) {
  const uint64_t seeds = Seeds();
  ASSERT_GT(seeds, 0u);
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const RandomCase c = MakeRandomCase(seed, lowest);
    EXPECT_EQ(DifferenceOf(c, RunOnEmulatedGpu(c, precision)), "") << "seed " << seed << "\n"
                                                                   << Print(c.graph);
  }
}

TEST(EmulatedRandomTest, GraphsKeepTheirMeaning) {
  ExpectMeaningKept(DType::kF32, PrecisionChoice::kStrict);
}
TEST(EmulatedRandomTest, GraphsKeepTheirMeaningInHalfs) {
  ExpectMeaningKept(DType::kF16, PrecisionChoice::kFp16);
}
TEST(EmulatedRandomTest, GraphsKeepTheirMeaningInBrainFloats) {
  ExpectMeaningKept(DType::kBF16, PrecisionChoice::kBf16);
}

}  // namespace
}  // namespace onnx_cudnn
