// Tensors as Python passes them to a Session and gets them back.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "onnx_cudnn/tensor.h"

namespace onnx_cudnn::python {

// Row-major memory of any device: the library's, or another Python object's, which is kept alive.
// Never copies.
class PyTensor {
 public:
  explicit PyTensor(Tensor tensor) : view_(tensor.view()), owned_(std::move(tensor)) {}
  PyTensor(TensorView view, nanobind::object owner)
      : view_(std::move(view)), owner_(std::move(owner)) {}

  const TensorView& view() const { return view_; }
  int64_t elements() const;
  int64_t bytes() const;  // 0 for strings

 private:
  TensorView view_;
  Tensor owned_;
  nanobind::object owner_;
};

// Adds the class Tensor.
void BindTensor(nanobind::module_& module);

}  // namespace onnx_cudnn::python
