#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Runs ReluModel()'s bytes on two numbers, with nothing but C. Returns an onnx_cudnn_status.
int32_t RunInC(const void* model, size_t size, const float* x, float* y);

#ifdef __cplusplus
}
#endif
