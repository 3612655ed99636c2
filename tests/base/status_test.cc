#include "runtime/base/status.h"

#include <gtest/gtest.h>

namespace onnx_cudnn {
namespace {

absl::StatusOr<int> Half(int x) {
  if (x % 2 != 0) return absl::InvalidArgumentError("odd");
  return x / 2;
}

absl::StatusOr<int> Quarter(int x) {
  ASSIGN_OR_RETURN(const int half, Half(x));
  ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

absl::Status CheckEven(int x) {
  RETURN_IF_ERROR(Half(x).status());
  return absl::OkStatus();
}

TEST(StatusTest, MacrosReturnTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status(), absl::InvalidArgumentError("odd"));
  EXPECT_TRUE(CheckEven(2).ok());
  EXPECT_FALSE(CheckEven(3).ok());
}

TEST(StatusTest, AnnotateKeepsTheCodeAndPutsWhereFirst) {
  EXPECT_EQ(Annotate(absl::NotFoundError("no file"), "a.onnx"),
            absl::NotFoundError("a.onnx: no file"));
  EXPECT_TRUE(Annotate(absl::OkStatus(), "a.onnx").ok());
}

}  // namespace
}  // namespace onnx_cudnn
