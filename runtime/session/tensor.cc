#include "onnx_cudnn/tensor.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/exception.h"
#include "runtime/base/status.h"
#include "runtime/graph/types.h"
#include "runtime/session/edge.h"

namespace onnx_cudnn {
namespace {

std::shared_ptr<void> EmptyStrings(int64_t count) {
  return std::shared_ptr<std::string>(new std::string[count], std::default_delete<std::string[]>());
}

}  // namespace

Result<Tensor> Tensor::Allocate(DType dtype, std::vector<int64_t> shape) {
  return AtEdge<Tensor>([&]() -> absl::StatusOr<Tensor> {
    if (BitsOf(dtype) == 0 && dtype != DType::kString) {
      return absl::InvalidArgumentError(absl::StrCat("no fixed size: dtype ", NameOf(dtype)));
    }
    ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(dtype, shape));
    constexpr std::align_val_t kAlignment{64};
    Tensor tensor;
    tensor.dtype_ = dtype;
    tensor.shape_ = std::move(shape);
    if (dtype == DType::kString) {
      tensor.data_ = EmptyStrings(tensor.elements());
      return tensor;
    }
    void* data = ::operator new(static_cast<size_t>(bytes), kAlignment, std::nothrow);
    if (data == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("out of host memory: %d bytes asked%s", bytes, LimitOfProcess()));
    }
    tensor.data_.reset(data, [](void* p) { ::operator delete(p, kAlignment); });
    return tensor;
  });
}

Tensor Tensor::Borrow(const TensorView& view, const std::shared_ptr<void>& owner) {
  Tensor tensor;
  tensor.device_ = view.device;
  tensor.dtype_ = view.dtype;
  tensor.shape_ = view.shape;
  tensor.data_ = std::shared_ptr<void>(owner, view.data);
  return tensor;
}

int64_t Tensor::elements() const { return dtype_ == DType::kUndefined ? 0 : ElementsOf(shape_); }
int64_t Tensor::bytes() const { return BytesOf(dtype_, elements()); }

}  // namespace onnx_cudnn
