// Calls from the library's threads into Python: messages and progress.
#pragma once

#include <nanobind/nanobind.h>

#include "onnx_cudnn/progress.h"

namespace onnx_cudnn::python {

// A callback that calls `callable(stage, done, total, text)` with the GIL held; stage is "loading",
// "optimizing", "building" or "tuning". False cancels; so does an exception, which is printed as
// unraisable. After the interpreter began to end nothing is called.
ProgressCallback ProgressOf(nanobind::object callable);

// Adds take_messages(), open_log(drain) and close_callbacks().
void BindCallbacks(nanobind::module_& module);

}  // namespace onnx_cudnn::python
