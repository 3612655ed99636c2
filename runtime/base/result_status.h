// What the public API returns, as the statuses of the code inside: for libraries on top of it.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onnx_cudnn/result.h"

namespace onnx_cudnn {

absl::Status StatusOf(const Error& error);
inline absl::Status StatusOf(const Result<void>& result) {
  return result.ok() ? absl::OkStatus() : StatusOf(result.error());
}
template <typename T>
absl::StatusOr<T> StatusOr(Result<T> result) {
  if (!result.ok()) return StatusOf(result.error());
  return std::move(result).value();
}

}  // namespace onnx_cudnn
