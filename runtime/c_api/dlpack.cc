#include "runtime/c_api/dlpack.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/c_api/boundary.h"
#include "runtime/graph/dlpack_types.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn::c_api {
namespace {

constexpr DLPackVersion kVersion = {1, 1};       // 1.1 has the floats of 8 and 4 bits
static_assert(sizeof(onnx_cudnn_string) == 16);  // what DLTypeOf says

absl::StatusOr<DType> CheckedDType(const DLDataType& type) {
  if (const std::optional<DType> dtype = DTypeOf(type)) return *dtype;
  return absl::InvalidArgumentError(
      absl::StrFormat("expected a DLDataType that ONNX has, found code %d, %d bits, %d lanes",
                      type.code, type.bits, type.lanes));
}

absl::StatusOr<DeviceRef> DeviceOf(const DLDevice& device) {
  switch (static_cast<int32_t>(device.device_type)) {
    case kDLCPU:
      return DeviceRef{DeviceKind::kCpu, device.device_id};
    case kDLCUDAHost:
      return DeviceRef{};
    case kDLCUDA:
    case kDLCUDAManaged:
      return DeviceRef{DeviceKind::kCuda, device.device_id};
    default:
      return absl::InvalidArgumentError(
          absl::StrFormat("expected memory of the host or of CUDA, found DLPack's device type %d",
                          static_cast<int32_t>(device.device_type)));
  }
}

absl::StatusOr<TensorView> ViewOf(const DLTensor& tensor) {
  TensorView view;
  ASSIGN_OR_RETURN(view.dtype, CheckedDType(tensor.dtype));
  ASSIGN_OR_RETURN(view.device, DeviceOf(tensor.device));
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("expected a shape of ndim extents, found ndim %d and %s", tensor.ndim,
                        tensor.shape == nullptr ? "no shape" : "a shape"));
  }
  if (tensor.ndim > 0) {
    view.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
    if (tensor.strides != nullptr)
      view.strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  }
  if (tensor.data != nullptr) view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  return view;
}

// Copies the strings, to which `view` points from then on.
absl::Status CopyStrings(const DLTensor& tensor, TensorView& view, StringCopies& copies) {
  if (tensor.strides != nullptr) {
    return absl::InvalidArgumentError("strings: expected no strides, found some");
  }
  ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(DType::kC128, view.shape));
  if (view.data == nullptr) return absl::OkStatus();
  const auto* strings = static_cast<const onnx_cudnn_string*>(view.data);
  auto copy = std::make_unique<std::vector<std::string>>();
  for (size_t i = 0; i < static_cast<size_t>(bytes) / sizeof(onnx_cudnn_string); ++i) {
    if (strings[i].data == nullptr && strings[i].size > 0) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "string %d: expected %d bytes, found a null pointer", i, strings[i].size));
    }
    copy->emplace_back(std::string_view(strings[i].data, strings[i].size));
  }
  view.data = copy->data();
  copies.push_back(std::move(copy));
  return absl::OkStatus();
}

absl::Status BorrowOne(const char* name, const DLTensor* tensor, BorrowedFor use,
                       BorrowedTensors& borrowed) {
  RETURN_IF_ERROR(CheckGiven(tensor, "tensor"));
  ASSIGN_OR_RETURN(TensorView view, ViewOf(*tensor));
  if (view.dtype == DType::kString) {
    if (use == BorrowedFor::kWriting) {
      return absl::UnimplementedError(
          "strings cannot be written to the caller's memory: let onnx_cudnn_session_run return "
          "them");
    }
    RETURN_IF_ERROR(CopyStrings(*tensor, view, borrowed.strings));
  }
  borrowed.views.emplace_back(name, std::move(view));
  return absl::OkStatus();
}

// A tensor with the parts that DLPack points to.
struct OwnedTensor {
  DLManagedTensorVersioned managed;
  Tensor tensor;
  std::vector<int64_t> shape, strides;
  std::vector<onnx_cudnn_string> strings;
};

void DeleteOwned(DLManagedTensorVersioned* managed) {
  delete static_cast<OwnedTensor*>(managed->manager_ctx);
}

std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<int64_t>(1, shape[i]);
  }
  return strides;
}

}  // namespace

absl::StatusOr<BorrowedTensors> Borrow(const char* const* names, const DLTensor* const* tensors,
                                       size_t count, std::string_view what, BorrowedFor use) {
  if (count > 0) RETURN_IF_ERROR(CheckGiven(tensors, absl::StrCat(what, "s")));
  BorrowedTensors borrowed;
  for (size_t i = 0; i < count; ++i) {
    if (names != nullptr) {
      RETURN_IF_ERROR(CheckGiven(names[i], absl::StrCat("name of ", what, " ", i)));
    }
    const char* name = names == nullptr ? "" : names[i];
    RETURN_IF_ERROR(
        Annotate(BorrowOne(name, tensors[i], use, borrowed), absl::StrCat(what, " ", i)));
  }
  return borrowed;
}

ManagedTensor Manage(Tensor tensor) {
  auto owned = std::make_unique<OwnedTensor>();
  owned->shape = tensor.shape();
  owned->strides = RowMajorStrides(owned->shape);
  void* data = tensor.raw();
  if (tensor.dtype() == DType::kString) {
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const std::string& text = tensor.data<std::string>()[i];
      owned->strings.push_back({text.data(), text.size()});
    }
    data = owned->strings.data();
  }
  const DLDevice device = {static_cast<DLDeviceType>(tensor.device().kind),
                           tensor.device().ordinal};
  owned->managed = {.version = kVersion,
                    .manager_ctx = owned.get(),
                    .deleter = DeleteOwned,
                    .flags = 0,
                    .dl_tensor = {.data = data,
                                  .device = device,
                                  .ndim = static_cast<int32_t>(owned->shape.size()),
                                  .dtype = DLTypeOf(tensor.dtype()),
                                  .shape = owned->shape.data(),
                                  .strides = owned->strides.data(),
                                  .byte_offset = 0}};
  owned->tensor = std::move(tensor);
  return ManagedTensor(&owned.release()->managed);
}

const Tensor* TensorIn(const DLManagedTensorVersioned& managed) {
  if (managed.deleter != DeleteOwned) return nullptr;
  return &static_cast<const OwnedTensor*>(managed.manager_ctx)->tensor;
}

}  // namespace onnx_cudnn::c_api
