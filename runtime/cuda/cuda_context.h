// Opening the GPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/known_devices.h"

namespace onnx_cudnn {

// Properties of the device, as the driver reports them.
struct CudaFacts : DeviceProperties {
  int driver_cuda = 0;     // newest CUDA version that the driver supports, 13000 for 13.0
  int runtime_cuda = 0;    // version that this program uses
  std::string driver;      // "580.65.06"; empty if unknown
  std::string pci_bus_id;  // "00000000:3B:00.0"
};

// The GPUs of this host.
struct GpuList {
  std::string driver;           // as in CudaFacts
  int driver_cuda = 0;          // as in CudaFacts; 0: no driver
  bool has_driver = false;      // one that is new enough for this program
  std::vector<CudaFacts> gpus;  // those visible to this process; code_capability is not read
  absl::Status status;          // why there is none, as for OpenCudaContext
};

// Lists them without creating a context.
GpuList ListGpus();

// Creates the device's context (a quarter of a second), makes it current on the calling thread, and
// checks that this build's kernels run on the device.
//   ordinal   among the devices visible to this process
//   on_facts  called before the context is created, with all but code_capability; may be empty
//   errors    FailedPrecondition, one line: what was found, what is needed, what to do; for a
//             missing or too old driver, a missing or too old device, a build without code for the
//             device
absl::StatusOr<CudaFacts> OpenCudaContext(
    int ordinal = 0, const std::function<void(const CudaFacts&)>& on_facts = {});

// 13000 as "13.0".
std::string CudaVersionText(int version);

}  // namespace onnx_cudnn
