// Times of ops with OpDef::evaluate at the sizes of large models, with bounds that only another
// order of growth exceeds: ctest -L bench runs it.
#include <chrono>
#include <cmath>

#include "absl/log/check.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "runtime/ops/evaluate.h"
#include "tests/ops/inferred_node.h"

namespace onnx_cudnn {
namespace {

// The minimum of three runs.
double SecondsOf(const char* what, const OpRun& run) {
  const InferredNode inferred(run);
  double least = 1e30;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    CHECK_OK(EvaluateConstants(*inferred.node));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count());
  }
  absl::PrintF("%-40s %8.1f ms\n", what, 1e3 * least);
  return least;
}

// Numbers from 0 to 1 that repeat after billions.
HostTensor Uniform(Dims dims) {
  HostTensor tensor = HostTensor::Allocate(DType::kF32, std::move(dims));
  uint64_t state = 1;
  for (float& v : tensor.mutable_data<float>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<float>(state >> 40) * 0x1p-24f;
  }
  return tensor;
}

// Boxes of a tenth of the image's side.
HostTensor Boxes(int64_t count, float side) {
  HostTensor boxes = Uniform({1, count, 4});
  absl::Span<float> v = boxes.mutable_data<float>();
  for (int64_t i = 0; i < count; ++i) {
    v[4 * i + 2] = v[4 * i] + side;
    v[4 * i + 3] = v[4 * i + 1] + side;
  }
  return boxes;
}

OpRun Suppression(float side, double most) {
  return {"NonMaxSuppression",
          {Boxes(5000, side), Uniform({1, 80, 5000}), TensorOf(DType::kI64, {}, {most}),
           F32({}, {0.5})}};
}

TEST(DataDependentTimeTest, NonMaxSuppressionOf5000BoxesAnd80Classes) {
  EXPECT_LT(SecondsOf("200 boxes kept of each class", Suppression(0.1f, 200)), 0.5);
  EXPECT_LT(SecondsOf("all that do not overlap", Suppression(0.1f, 5000)), 1);
  EXPECT_LT(SecondsOf("all: none overlap", Suppression(0.001f, 5000)), 10);
}

TEST(DataDependentTimeTest, NonZeroOfTenMillionElements) {
  HostTensor few = Uniform({1000, 10000}), half = Uniform({1000, 10000});
  for (float& v : few.mutable_data<float>()) v = v < 0.01f ? v : 0;
  for (float& v : half.mutable_data<float>()) v = v < 0.5f ? v : 0;
  EXPECT_LT(SecondsOf("NonZero, 1% of 10^7", {"NonZero", {few}}), 0.1);
  EXPECT_LT(SecondsOf("NonZero, 50% of 10^7", {"NonZero", {half}}), 0.5);
  EXPECT_LT(SecondsOf("NonZero, 50% of 10^7 columns", {"NonZero", {half.Reshaped({10000000, 1})}}),
            0.5);
}

TEST(DataDependentTimeTest, SelectionsOfAMillionElements) {
  HostTensor kept = HostTensor::Allocate(DType::kBool, {1000000});
  const HostTensor x = Uniform({1000000});
  for (int64_t i = 0; i < kept.elements(); ++i)
    kept.mutable_data<uint8_t>()[i] = x.data<float>()[i] < 0.5f ? 1 : 0;
  EXPECT_LT(SecondsOf("Compress, 50% of 10^6", {"Compress", {x, kept}}), 0.1);
  EXPECT_LT(SecondsOf("Unique of 10^6", {"Unique", {x}, {}, 4}), 1);
  EXPECT_LT(SecondsOf("Unique of 10^5 rows",
                      {"Unique", {x.Reshaped({100000, 10})}, {{"axis", int64_t{0}}}, 4}),
            0.5);
}

}  // namespace
}  // namespace onnx_cudnn
