#include "python/src/tensor.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "python/src/errors.h"

namespace onnx_cudnn::python {
namespace {

namespace nb = nanobind;
using nb::dlpack::dtype_code;

struct TypeRow {
  DType dtype;
  dtype_code code;
  uint8_t bits;
};
// Types that DLPack knows and that fill whole bytes.
constexpr TypeRow kTypes[] = {
    {DType::kF32, dtype_code::Float, 32},
    {DType::kF64, dtype_code::Float, 64},
    {DType::kF16, dtype_code::Float, 16},
    {DType::kBF16, dtype_code::Bfloat, 16},
    {DType::kU8, dtype_code::UInt, 8},
    {DType::kU16, dtype_code::UInt, 16},
    {DType::kU32, dtype_code::UInt, 32},
    {DType::kU64, dtype_code::UInt, 64},
    {DType::kI8, dtype_code::Int, 8},
    {DType::kI16, dtype_code::Int, 16},
    {DType::kI32, dtype_code::Int, 32},
    {DType::kI64, dtype_code::Int, 64},
    {DType::kBool, dtype_code::Bool, 8},
    {DType::kC64, dtype_code::Complex, 64},
    {DType::kC128, dtype_code::Complex, 128},
    {DType::kF8E4M3FN, dtype_code::Float8_E4M3FN, 8},
    {DType::kF8E4M3FNUZ, dtype_code::Float8_E4M3FNUZ, 8},
    {DType::kF8E5M2, dtype_code::Float8_E5M2, 8},
    {DType::kF8E5M2FNUZ, dtype_code::Float8_E5M2FNUZ, 8},
    {DType::kF8E8M0, dtype_code::Float8_E8M0FNU, 8},
};

DType FromDlpack(nb::dlpack::dtype type) {
  for (const TypeRow& row : kTypes) {
    if (static_cast<uint8_t>(row.code) == type.code && row.bits == type.bits && type.lanes == 1)
      return row.dtype;
  }
  ThrowInvalid("DLPack tensor: code " + std::to_string(type.code) + ", " +
               std::to_string(type.bits) + " bits, " + std::to_string(type.lanes) +
               " lanes: expected a type of ONNX");
}

nb::dlpack::dtype ToDlpack(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return {static_cast<uint8_t>(row.code), row.bits, 1};
  }
  ThrowInvalid("DLPack has no tensors of " + std::string(NameOf(dtype)));
}

// DLPack's device types; pinned and managed memory is read like the host's and the device's.
DeviceRef DeviceOf(int type, int ordinal) {
  constexpr int kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;
  if (type == kCpu || type == kCudaHost) return {};
  if (type == kCuda || type == kCudaManaged) return {DeviceKind::kCuda, ordinal};
  ThrowInvalid("tensor on the DLPack device type " + std::to_string(type) +
               ": expected 1 (CPU) or 2 (CUDA)");
}

PyTensor FromAddress(uint64_t address, int dtype, std::vector<int64_t> shape, int device_type,
                     int device_id, nb::object owner) {
  if (dtype <= 0 || dtype > kLastDType) ThrowInvalid("unknown dtype " + std::to_string(dtype));
  return {{reinterpret_cast<void*>(address),
           static_cast<DType>(dtype),
           std::move(shape),
           {},
           DeviceOf(device_type, device_id)},
          std::move(owner)};
}

// Whether the strides are those of row-major order; those of extents of 1 are never used.
bool RowMajor(const TensorView& view) {
  int64_t expected = 1;
  for (size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] == 0) return true;
    if (view.shape[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.shape[i];
  }
  return true;
}

PyTensor FromCapsule(const nb::object& capsule) {
  auto array = nb::cast<nb::ndarray<nb::ro>>(capsule);
  TensorView view{const_cast<void*>(array.data()),
                  FromDlpack(array.dtype()),
                  {},
                  {},
                  DeviceOf(array.device_type(), array.device_id())};
  for (size_t i = 0; i < array.ndim(); ++i) {
    view.shape.push_back(static_cast<int64_t>(array.shape(i)));
    view.strides.push_back(array.stride(i));
  }
  if (!RowMajor(view)) ThrowInvalid("DLPack tensor: expected row-major elements, found strides");
  view.strides.clear();
  // The ndarray owns the capsule's tensor: it lives as long as this object.
  auto kept = std::make_unique<nb::ndarray<nb::ro>>(std::move(array));
  nb::capsule owner(kept.get(),
                    [](void* p) noexcept { delete static_cast<nb::ndarray<nb::ro>*>(p); });
  kept.release();
  return {std::move(view), std::move(owner)};
}

PyTensor FromStrings(const std::vector<std::string>& values, std::vector<int64_t> shape) {
  Tensor tensor = ValueOf(Tensor::Allocate(DType::kString, std::move(shape)));
  if (tensor.elements() != static_cast<int64_t>(values.size()))
    ThrowInvalid(std::to_string(values.size()) + " strings do not fill the shape");
  std::copy(values.begin(), values.end(), tensor.data<std::string>());
  return PyTensor(std::move(tensor));
}

PyTensor Allocate(int dtype, std::vector<int64_t> shape) {
  if (dtype <= 0 || dtype > kLastDType) ThrowInvalid("unknown dtype " + std::to_string(dtype));
  return PyTensor(ValueOf(Tensor::Allocate(static_cast<DType>(dtype), std::move(shape))));
}

nb::list Strings(const PyTensor& tensor) {
  nb::list list;
  if (tensor.view().dtype != DType::kString) ThrowInvalid("the tensor does not hold strings");
  const auto* values = static_cast<const std::string*>(tensor.view().data);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    list.append(nb::steal(PyUnicode_DecodeUTF8(
        values[i].data(), static_cast<Py_ssize_t>(values[i].size()), "surrogateescape")));
  }
  return list;
}

// An object with __dlpack__ and __dlpack_device__ over the same memory.
nb::object ToDlpackObject(const nb::object& self) {
  const auto& view = nb::cast<const PyTensor&>(self).view();
  std::vector<size_t> shape(view.shape.begin(), view.shape.end());
  const int kind = static_cast<int>(view.device.kind);
  return nb::cast(nb::ndarray<nb::array_api>(view.data, shape.size(), shape.data(), self,
                                             /*strides=*/nullptr, ToDlpack(view.dtype), kind,
                                             view.device.ordinal));
}

}  // namespace

int64_t PyTensor::elements() const {
  int64_t count = 1;
  for (const int64_t extent : view_.shape) count *= extent;
  return count;
}

int64_t PyTensor::bytes() const { return (elements() * BitsOf(view_.dtype) + 7) / 8; }

void BindTensor(nb::module_& module) {
  nb::class_<PyTensor>(module, "Tensor", "Row-major memory of any device; never copied.")
      .def_static("from_address", &FromAddress, nb::arg("address"), nb::arg("dtype"),
                  nb::arg("shape"), nb::arg("device_type"), nb::arg("device_id"),
                  nb::arg("owner").none(),
                  "Memory of `owner`, which is kept alive. dtype is numbered as in ONNX.")
      .def_static("from_capsule", &FromCapsule, nb::arg("capsule"), "Takes a DLPack capsule.")
      .def_static("from_strings", &FromStrings, nb::arg("values"), nb::arg("shape"))
      .def_static("allocate", &Allocate, nb::arg("dtype"), nb::arg("shape"),
                  "Uninitialized host memory, 64-byte aligned; strings are empty.")
      .def_prop_ro("address",
                   [](const PyTensor& t) { return reinterpret_cast<uint64_t>(t.view().data); })
      .def_prop_ro("dtype", [](const PyTensor& t) { return static_cast<int>(t.view().dtype); })
      .def_prop_ro("shape", [](const PyTensor& t) { return nb::tuple(nb::cast(t.view().shape)); })
      .def_prop_ro("device_type",
                   [](const PyTensor& t) { return static_cast<int>(t.view().device.kind); })
      .def_prop_ro("device_id", [](const PyTensor& t) { return t.view().device.ordinal; })
      .def_prop_ro("nbytes", &PyTensor::bytes)
      .def("strings", &Strings, "The strings, in row-major order.")
      .def("dlpack", &ToDlpackObject, "An object with DLPack's methods over the same memory.");
}

}  // namespace onnx_cudnn::python
