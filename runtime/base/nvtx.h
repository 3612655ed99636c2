// Ranges that NVIDIA's tools (Nsight Systems) show. Without such a tool a call costs nanoseconds;
// where the build finds no NVTX header it does nothing.
#pragma once

namespace onnx_cudnn {

// Begins a range of this thread within those that it began before; `name` is copied.
void PushNvtxRange(const char* name);
// Ends the innermost one.
void PopNvtxRange();

}  // namespace onnx_cudnn
