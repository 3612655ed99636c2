// Errors of the library as Triton's.
#include "runtime/triton/errors.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "onnx_cudnn/result.h"

namespace onnx_cudnn::triton {
namespace {

// As the table in docs/serving.md.
TEST(TritonErrorsTest, EachCodeOfTheLibraryHasOneOfTritons) {
  const std::pair<ErrorCode, TRITONSERVER_Error_Code> expected[] = {
      {ErrorCode::kInvalidArgument, TRITONSERVER_ERROR_INVALID_ARG},
      {ErrorCode::kUnimplemented, TRITONSERVER_ERROR_UNSUPPORTED},
      {ErrorCode::kNotFound, TRITONSERVER_ERROR_NOT_FOUND},
      {ErrorCode::kDataLoss, TRITONSERVER_ERROR_INTERNAL},
      {ErrorCode::kResourceExhausted, TRITONSERVER_ERROR_UNAVAILABLE},
      {ErrorCode::kFailedPrecondition, TRITONSERVER_ERROR_UNAVAILABLE},
      {ErrorCode::kCancelled, TRITONSERVER_ERROR_CANCELLED},
      {ErrorCode::kInternal, TRITONSERVER_ERROR_INTERNAL}};
  std::set<ErrorCode> codes;
  for (const auto& [ours, tritons] : expected) {
    codes.insert(ours);
    TRITONSERVER_Error* error = ErrorOf(StatusOf(Error{ours, "what was found"}));
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(TRITONSERVER_ErrorCode(error), tritons) << static_cast<int>(ours);
    EXPECT_STREQ(TRITONSERVER_ErrorMessage(error), "what was found");
    TRITONSERVER_ErrorDelete(error);
  }
  EXPECT_EQ(codes.size(), static_cast<size_t>(ErrorCode::kInternal) + 1);
  EXPECT_EQ(ErrorOf(absl::OkStatus()), nullptr);
}

}  // namespace
}  // namespace onnx_cudnn::triton
