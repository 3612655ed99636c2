// Marks what the shared library exports.
#pragma once

#define ONNX_CUDNN_API __attribute__((visibility("default")))
// For members of marked classes that are not part of the interface.
#define ONNX_CUDNN_HIDDEN __attribute__((visibility("hidden")))
