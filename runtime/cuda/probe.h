#pragma once

namespace onnx_cudnn {

// An empty kernel, compiled for the same architectures as all others: if the device runs it, the
// device runs this build's code.
const void* ProbeKernel();

}  // namespace onnx_cudnn
