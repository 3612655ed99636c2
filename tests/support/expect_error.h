#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "absl/strings/match.h"
#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

// That `result` is an error of this code whose message holds `text`.
template <typename T>
void ExpectError(const Result<T>& result, ErrorCode code, std::string_view text) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code);
  EXPECT_TRUE(absl::StrContains(result.error().message, text)) << result.error().message;
}

}  // namespace onnx_cudnn
