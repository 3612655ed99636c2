// Sequences, optionals and maps as Python passes them to a Session and gets them back.
#pragma once

#include <nanobind/nanobind.h>

#include "onnx_cudnn/model_value.h"

namespace onnx_cudnn::python {

// A Tensor, a list (sequence), None (empty optional), or a tuple of keys and a list (map). The
// memory of its tensors is not copied: `value` must outlive the result.
ModelValue ModelValueOf(nanobind::handle value);

// The same forms; an optional that holds a value is that value.
nanobind::object ToPython(const ModelValue& value);

}  // namespace onnx_cudnn::python
