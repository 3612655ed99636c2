// Early returns for absl::Status, and text that says where an error happened.
#pragma once

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define ONNX_CUDNN_CONCAT_INNER(a, b) a##b
#define ONNX_CUDNN_CONCAT(a, b) ONNX_CUDNN_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                           \
  do {                                                        \
    if (absl::Status status_ = (expression); !status_.ok()) { \
      return status_;                                         \
    }                                                         \
  } while (false)

// ASSIGN_OR_RETURN(auto x, F());  ASSIGN_OR_RETURN(member_, F());
#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_IMPL(ONNX_CUDNN_CONCAT(status_or_, __LINE__), target, expression)
#define ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                             \
  if (!result.ok()) return std::move(result).status();    \
  target = *std::move(result)

namespace onnx_cudnn {

// `status` with "where: " before its message; an OK status stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view where);

}  // namespace onnx_cudnn
