// The extension module onnx_cudnn._core.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "onnx_cudnn/version.h"
#include "python/src/callbacks.h"
#include "python/src/errors.h"
#include "python/src/session.h"
#include "python/src/tensor.h"

NB_MODULE(_core, module) {
  // Sessions that live until the interpreter ends are the user's choice, not a leak to report.
  nanobind::set_leak_warnings(false);
  module.attr("version") = onnx_cudnn::Version().version;
  onnx_cudnn::python::BindErrors(module);
  onnx_cudnn::python::BindTensor(module);
  onnx_cudnn::python::BindCallbacks(module);
  onnx_cudnn::python::BindOptions(module);
  onnx_cudnn::python::BindSession(module);
  onnx_cudnn::python::BindBatcher(module);
}
