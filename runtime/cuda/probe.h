#pragma once

namespace onnx_cudnn {

// A kernel that does nothing, compiled for what every other one is compiled for: the device takes
// this build's code when it takes this one's.
const void* ProbeKernel();

}  // namespace onnx_cudnn
