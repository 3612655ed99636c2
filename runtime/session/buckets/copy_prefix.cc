#include "runtime/session/buckets/copy_prefix.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace onnx_cudnn {
namespace {

// Bytes between neighbours along `axis`.
int64_t StrideOf(absl::Span<const int64_t> dims, size_t axis, int64_t element_bytes) {
  int64_t stride = element_bytes;
  for (size_t i = axis + 1; i < dims.size(); ++i) stride *= dims[i];
  return stride;
}

}  // namespace

void CopyPrefix(const void* from, absl::Span<const int64_t> from_dims, void* to,
                absl::Span<const int64_t> to_dims, int64_t element_bytes) {
  // Behind `split` the dims are equal, so that each row of it is contiguous in both.
  size_t split = from_dims.size();
  while (split > 0 && from_dims[split - 1] == to_dims[split - 1]) --split;
  std::vector<int64_t> common;
  for (size_t i = 0; i < split; ++i) common.push_back(std::min(from_dims[i], to_dims[i]));
  int64_t row_bytes = element_bytes, rows = 1;
  for (size_t i = split; i < from_dims.size(); ++i) row_bytes *= from_dims[i];
  if (split > 0) row_bytes *= common[split - 1];
  for (size_t i = 0; i + 1 < split; ++i) rows *= common[i];
  if (row_bytes == 0) return;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t rest = row, from_at = 0, to_at = 0;
    for (size_t i = split < 1 ? 0 : split - 1; i-- > 0;) {
      const int64_t index = rest % common[i];
      rest /= common[i];
      from_at += index * StrideOf(from_dims, i, element_bytes);
      to_at += index * StrideOf(to_dims, i, element_bytes);
    }
    std::memcpy(static_cast<char*>(to) + to_at, static_cast<const char*>(from) + from_at,
                static_cast<size_t>(row_bytes));
  }
}

}  // namespace onnx_cudnn
