// Session, its options and its bindings for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace onnx_cudnn::python {

// Adds SessionOptions and its enums.
void BindOptions(nanobind::module_& module);
// Adds CancelFlag, ValueInfo, Binding and Session.
void BindSession(nanobind::module_& module);

}  // namespace onnx_cudnn::python
