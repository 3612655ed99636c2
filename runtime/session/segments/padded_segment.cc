#include "runtime/session/segments/padded_segment.h"

#include <utility>

namespace onnx_cudnn {
namespace {

// Whether elements of these extents are the first in memory, whatever the lengths are.
bool AreFirstInMemory(const std::vector<Affine>& extents) {
  bool is_first = true;
  for (const Affine& extent : extents) {
    if (!is_first && !extent.is_constant()) return false;
    is_first &= extent == Affine(1);
  }
  return true;
}

}  // namespace

absl::StatusOr<Tensor> WithPadding(const Tensor& tensor, const Dims& dims,
                                   const ValueMemory& memory) {
  if (tensor.shape() == dims) return tensor;
  return memory.Resize(tensor, dims);
}

absl::StatusOr<Tensor> WithoutPadding(const Tensor& padded, const std::vector<Affine>& extents,
                                      const std::vector<int64_t>& lengths,
                                      const ValueMemory& memory) {
  Dims dims;
  for (const Affine& extent : extents) dims.push_back(extent.At(lengths));
  if (dims == padded.shape()) return padded;
  if (AreFirstInMemory(extents)) return TensorMaker::Reshaped(padded, std::move(dims));
  return memory.Resize(padded, dims);
}

}  // namespace onnx_cudnn
