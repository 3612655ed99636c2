#include "runtime/base/result_status.h"

#include <cstddef>
#include <iterator>

namespace onnx_cudnn {

absl::Status StatusOf(const Error& error) {
  constexpr absl::StatusCode kCodes[] = {
      absl::StatusCode::kInvalidArgument,   absl::StatusCode::kUnimplemented,
      absl::StatusCode::kNotFound,          absl::StatusCode::kDataLoss,
      absl::StatusCode::kResourceExhausted, absl::StatusCode::kFailedPrecondition,
      absl::StatusCode::kCancelled,         absl::StatusCode::kInternal};
  static_assert(std::size(kCodes) == static_cast<size_t>(ErrorCode::kInternal) + 1);
  return absl::Status(kCodes[static_cast<int>(error.code)], error.message);
}

}  // namespace onnx_cudnn
