#include "runtime/triton/data_types.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn::triton {
namespace {

struct Pair {
  DType dtype;
  TRITONSERVER_DataType type;
  std::string_view config_name;
};
constexpr Pair kPairs[] = {
    {DType::kBool, TRITONSERVER_TYPE_BOOL, "TYPE_BOOL"},
    {DType::kU8, TRITONSERVER_TYPE_UINT8, "TYPE_UINT8"},
    {DType::kU16, TRITONSERVER_TYPE_UINT16, "TYPE_UINT16"},
    {DType::kU32, TRITONSERVER_TYPE_UINT32, "TYPE_UINT32"},
    {DType::kU64, TRITONSERVER_TYPE_UINT64, "TYPE_UINT64"},
    {DType::kI8, TRITONSERVER_TYPE_INT8, "TYPE_INT8"},
    {DType::kI16, TRITONSERVER_TYPE_INT16, "TYPE_INT16"},
    {DType::kI32, TRITONSERVER_TYPE_INT32, "TYPE_INT32"},
    {DType::kI64, TRITONSERVER_TYPE_INT64, "TYPE_INT64"},
    {DType::kF16, TRITONSERVER_TYPE_FP16, "TYPE_FP16"},
    {DType::kF32, TRITONSERVER_TYPE_FP32, "TYPE_FP32"},
    {DType::kF64, TRITONSERVER_TYPE_FP64, "TYPE_FP64"},
    {DType::kString, TRITONSERVER_TYPE_BYTES, "TYPE_STRING"},
    {DType::kBF16, TRITONSERVER_TYPE_BF16, "TYPE_BF16"},
};
constexpr size_t kLengthBytes = sizeof(uint32_t);
static_assert(std::endian::native == std::endian::little);  // as Triton's lengths

}  // namespace

DType DTypeOf(TRITONSERVER_DataType type) {
  for (const Pair& pair : kPairs) {
    if (pair.type == type) return pair.dtype;
  }
  return DType::kUndefined;
}

TRITONSERVER_DataType DataTypeOf(DType dtype) {
  for (const Pair& pair : kPairs) {
    if (pair.dtype == dtype) return pair.type;
  }
  return TRITONSERVER_TYPE_INVALID;
}

std::string_view ConfigNameOf(DType dtype) {
  for (const Pair& pair : kPairs) {
    if (pair.dtype == dtype) return pair.config_name;
  }
  return "";
}

int64_t BytesOfStrings(absl::Span<const std::string> strings) {
  size_t bytes = 0;
  for (const std::string& text : strings) bytes += kLengthBytes + text.size();
  return static_cast<int64_t>(bytes);
}

void WriteStrings(absl::Span<const std::string> strings, void* to) {
  char* at = static_cast<char*>(to);
  for (const std::string& text : strings) {
    const auto length = static_cast<uint32_t>(text.size());
    std::memcpy(at, &length, kLengthBytes);
    std::memcpy(at + kLengthBytes, text.data(), text.size());
    at += kLengthBytes + text.size();
  }
}

absl::Status ReadStrings(std::string_view bytes, absl::Span<std::string> strings) {
  for (size_t i = 0; i < strings.size(); ++i) {
    uint32_t length = 0;
    const bool has_length = bytes.size() >= kLengthBytes;
    if (has_length) std::memcpy(&length, bytes.data(), kLengthBytes);
    if (!has_length || bytes.size() - kLengthBytes < length) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected ", strings.size(), " strings, the bytes end in string ", i));
    }
    strings[i] = bytes.substr(kLengthBytes, length);
    bytes.remove_prefix(kLengthBytes + length);
  }
  if (bytes.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected ", strings.size(), " strings, found ",
                                                 bytes.size(), " bytes behind them"));
}

}  // namespace onnx_cudnn::triton
