#include "runtime/base/exception.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

namespace onnx_cudnn {
namespace {

template <typename Exception>
absl::Status StatusOf(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return StatusOfException();
  }
}

TEST(ExceptionTest, MemoryAndThreadsAreResources) {
  EXPECT_EQ(StatusOf(std::bad_alloc()),
            absl::ResourceExhaustedError("out of host memory" + LimitOfProcess()));
  const auto no_thread = std::make_error_code(std::errc::resource_unavailable_try_again);
  EXPECT_TRUE(absl::IsResourceExhausted(StatusOf(std::system_error(no_thread))));
}

TEST(ExceptionTest, OthersAreInternal) {
  EXPECT_EQ(StatusOf(std::runtime_error("no")), absl::InternalError("unexpected exception: no"));
  EXPECT_TRUE(absl::IsInternal(
      StatusOf(std::system_error(std::make_error_code(std::errc::permission_denied)))));
  EXPECT_EQ(StatusOf(5), absl::InternalError("unexpected exception"));
}

}  // namespace
}  // namespace onnx_cudnn
