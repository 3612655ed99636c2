// A GPU that is not there: a fake CUDA runtime below the table of CUDA calls, whose launches the
// emulator runs. cuDNN and cuBLASLt are left out, so that our kernels run what the host does not.
#pragma once

#include "tests/cuda/fake_cuda.h"

namespace onnx_cudnn {

// For FakeCuda, before anybody looks for the libraries. A launch that the emulator refuses is a
// failure of the test.
FakeCudaOptions EmulatedGpu();

}  // namespace onnx_cudnn
