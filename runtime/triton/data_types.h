// Element types of Triton, and its form of strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onnx_cudnn/dtype.h"
#include "runtime/triton/triton_api.h"

namespace onnx_cudnn::triton {

// kUndefined: TRITONSERVER_TYPE_INVALID.
DType DTypeOf(TRITONSERVER_DataType type);
// TRITONSERVER_TYPE_INVALID: Triton has no such type.
TRITONSERVER_DataType DataTypeOf(DType dtype);
// As configurations have it: "TYPE_FP32"; empty: Triton has no such type.
std::string_view ConfigNameOf(DType dtype);

// Strings in a tensor of Triton: each is four bytes with its length, least significant first, and
// its bytes.
int64_t BytesOfStrings(absl::Span<const std::string> strings);
void WriteStrings(absl::Span<const std::string> strings, void* to);
//   errors  InvalidArgument: not as many strings as `strings` has room for, or bytes left over
absl::Status ReadStrings(std::string_view bytes, absl::Span<std::string> strings);

}  // namespace onnx_cudnn::triton
