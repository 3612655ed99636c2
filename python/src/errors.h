// Errors of the C++ API as Python exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

#include "onnx_cudnn/result.h"

namespace onnx_cudnn::python {

// Becomes the Python exception of its code.
struct CodedError {
  Error error;
};

// The value of a Result, or its Error as a CodedError.
template <typename T>
T ValueOf(Result<T> result) {
  if (!result.ok()) throw CodedError{result.error()};
  return std::move(result).value();
}
void Check(const Result<void>& result);

[[noreturn]] void ThrowInvalid(std::string message);

// Adds `set_error_types(types)`: the exception classes, in the order of ErrorCode.
void BindErrors(nanobind::module_& module);

}  // namespace onnx_cudnn::python
