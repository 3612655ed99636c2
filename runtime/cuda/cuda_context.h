// Opening the GPU.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

// What the driver says of the device.
struct CudaFacts {
  std::string product;         // "NVIDIA H200"
  int compute_capability = 0;  // 90 for sm_90
  int code_capability = 0;     // what this build's code for it was compiled for
  bool has_sm_90a_code = false;
  int multiprocessors = 0;
  int64_t shared_bytes_per_block = 0;  // what a kernel may ask for
  int64_t l2_bytes = 0, memory_bytes = 0;
  double clock_mhz = 0, memory_clock_mhz = 0;
  int memory_bus_bits = 0;
  int driver_cuda = 0;   // the newest CUDA the driver knows, 13000 for 13.0
  int runtime_cuda = 0;  // the one in this program
  std::string driver;    // "580.65.06"; empty where the system does not say
};

// Makes the device's context (a quarter of a second), the calling thread's from now on, and checks
// that this build's kernels run on it.
//   ordinal  among the devices that are visible to this process
//   errors   FailedPrecondition, one line: what was found, what is needed, what to do: no driver,
//            one too old, no such device, one too old, a build without code for it
absl::StatusOr<CudaFacts> OpenCudaContext(int ordinal = 0);

// "13.0" of 13000.
std::string CudaVersionText(int version);

}  // namespace onnx_cudnn
