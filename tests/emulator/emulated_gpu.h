// An emulated GPU: a fake CUDA runtime below the table of CUDA calls, whose launches the emulator
// runs. Without cuDNN and cuBLASLt, so that our kernels run what the host does not.
#pragma once

#include "tests/cuda/fake_cuda.h"

namespace onnx_cudnn {

// For FakeCuda; call it before anything searches for libraries. A launch that the emulator refuses
// fails the test.
FakeCudaOptions EmulatedGpu();

}  // namespace onnx_cudnn
