#include "python/src/errors.h"

#include <nanobind/stl/string.h>

#include <exception>

namespace onnx_cudnn::python {
namespace {

namespace nb = nanobind;

// A tuple of classes, kept for the life of the process; null before set_error_types.
PyObject* error_types = nullptr;

void Translate(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const CodedError& coded) {
    PyObject* type = error_types == nullptr
                         ? PyExc_RuntimeError
                         : PyTuple_GetItem(error_types, static_cast<int>(coded.error.code));
    if (type != nullptr) PyErr_SetString(type, coded.error.message.c_str());
  }
}

}  // namespace

void Check(const Result<void>& result) {
  if (!result.ok()) throw CodedError{result.error()};
}

void ThrowInvalid(std::string message) {
  throw CodedError{{ErrorCode::kInvalidArgument, std::move(message)}};
}

void BindErrors(nb::module_& module) {
  nb::register_exception_translator(Translate);
  module.def(
      "set_error_types",
      [](nb::tuple types) {
        Py_XDECREF(error_types);
        error_types = types.release().ptr();
      },
      nb::arg("types"), "Exception classes in the order of ErrorCode; called once by the package.");
}

}  // namespace onnx_cudnn::python
