#include "runtime/session/segments/padded_segment.h"

#include <cstring>

#include "runtime/base/status.h"
#include "runtime/session/buckets/copy_prefix.h"

namespace onnx_cudnn {
namespace {

absl::StatusOr<Tensor> Resized(const Tensor& tensor, const Dims& dims, const ValueMemory& memory) {
  ASSIGN_OR_RETURN(const HostTensor from, memory.ToHost(tensor));
  ASSIGN_OR_RETURN(Tensor to, memory.Allocate(tensor.dtype(), dims, Space::kHost));
  std::memset(to.raw(), 0, to.bytes());
  CopyPrefix(from.raw(), tensor.shape(), to.raw(), dims, BitsOf(tensor.dtype()) / 8);
  return to;
}

// Whether elements of dims `part` are the first in memory of those of `whole`.
bool IsPrefix(const Dims& part, const Dims& whole) {
  bool is_first = true;
  for (size_t i = 0; i < part.size(); ++i) {
    if (!is_first && part[i] != whole[i]) return false;
    is_first &= whole[i] == 1;
  }
  return true;
}

}  // namespace

bool AreFirstInMemory(const std::vector<Affine>& extents) {
  bool is_first = true;
  for (const Affine& extent : extents) {
    if (!is_first && !extent.is_constant()) return false;
    is_first &= extent == Affine(1);
  }
  return true;
}

absl::StatusOr<Tensor> WithPadding(const Tensor& tensor, const Dims& dims,
                                   const ValueMemory& memory) {
  if (tensor.shape() == dims) return tensor;
  if (IsPrefix(tensor.shape(), dims)) return memory.Extend(tensor, dims);
  return Resized(tensor, dims, memory);
}

absl::StatusOr<Tensor> WithoutPadding(const Tensor& padded, const std::vector<Affine>& extents,
                                      const std::vector<int64_t>& lengths,
                                      const ValueMemory& memory) {
  Dims dims;
  for (const Affine& extent : extents) dims.push_back(extent.At(lengths));
  if (dims == padded.shape()) return padded;
  if (AreFirstInMemory(extents)) return TensorMaker::Reshaped(padded, std::move(dims));
  return Resized(padded, dims, memory);
}

}  // namespace onnx_cudnn
