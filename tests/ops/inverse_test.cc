#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

OpRun Inverse(HostTensor x) {
  return {.op = "Inverse", .inputs = {std::move(x)}, .domain = "com.microsoft", .opset = 1};
}

void ExpectInverse(DType dtype, Dims dims, const std::vector<double>& values,
                   const std::vector<double>& expected) {
  const Numbers found = RunForNumbers(Inverse(TensorOf(dtype, dims, values)));
  EXPECT_EQ(found.dims, dims);
  ASSERT_EQ(found.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(found.values[i])) << i << ": " << found.values[i];
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(found.values[i], expected[i]) << i;
    } else {
      EXPECT_NEAR(found.values[i], expected[i], 1e-6) << i;
    }
  }
}

TEST(InverseTest, InvertsEachMatrixOfABatch) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    ExpectInverse(dtype, {2, 1, 2, 2}, {1, 2, 3, 4, 0, 2, 4, 0},
                  {-2, 1, 1.5, -0.5, 0, 0.25, 0.5, 0});
    ExpectInverse(dtype, {1, 1}, {-4}, {-0.25});
    ExpectInverse(dtype, {0, 2, 2}, {}, {});
    ExpectInverse(dtype, {2, 0, 0}, {}, {});
  }
  // The largest element of each column is in another row.
  ExpectInverse(DType::kF32, {3, 3}, {0, 0, 2, 4, 0, 1, 1, 1, 0},
                {-0.125, 0.25, 0, 0.125, -0.25, 1, 0.5, 0, 0});
}

// A pivot of 1e-20 would lose the other elements.
TEST(InverseTest, PivotsBySize) {
  ExpectInverse(DType::kF32, {2, 2}, {1e-20, 1, 1, 1}, {-1, 1, 1, 0});
}

// As onnxruntime: divided by zero, without an error.
TEST(InverseTest, SingularMatricesGiveInfinitiesAndNaN) {
  ExpectInverse(DType::kF32, {2, 2}, {1, 2, 2, 4}, {-kInf, kInf, kInf, -kInf});
  ExpectInverse(DType::kF64, {2, 2}, {0, 0, 0, 0}, {kNaN, kNaN, kNaN, kInf});
  ExpectInverse(DType::kF16, {3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1},
                {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, -kInf, kNaN, kInf});
  ExpectInverse(DType::kF32, {1, 1}, {0}, {kInf});
}

TEST(InverseTest, RefusesWhatIsNotSquareAndOtherTypes) {
  const auto refusal = [](HostTensor x) {
    return std::string(RunOp(Inverse(std::move(x))).status().message());
  };
  for (const Dims& dims : {Dims{2, 2, 3}, Dims{3}, Dims{}}) {
    const std::string message = refusal(F32(dims, std::vector<double>(ElementsOf(dims), 1)));
    EXPECT_TRUE(absl::StrContains(message, "expected square matrices")) << message;
  }
  const std::string message = refusal(TensorOf(DType::kBF16, {1, 1}, {1}));
  EXPECT_TRUE(absl::StrContains(message, "bf16: the type is not implemented")) << message;
}

}  // namespace
}  // namespace onnx_cudnn
