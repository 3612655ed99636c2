#include "runtime/gpu/examine.h"
#include "runtime/gpu/gpu.h"

namespace onnx_cudnn {
namespace {

absl::Status None() {
  return absl::FailedPreconditionError(
      "no usable GPU: this build of onnx-cudnn has no CUDA half (ONNX_CUDNN_CUDA=OFF)");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenGpu(int, const OnDeviceInfo&) { return None(); }
std::future<void> OpenGpuLibraries() { return {}; }
absl::StatusOr<OwnedTarget> MakeGpuTarget(const Device&, int, const GpuSetup&) { return None(); }
absl::Status CompilePlans(int, int) { return None(); }

void ExamineGpus(DoctorReport& report) {
  report.findings.push_back(
      {.what = "this build of onnx-cudnn has no CUDA half",
       .remedy = "build it on a host with CUDA 13's toolkit (nvcc): docs/installing.md",
       .without = "models run on the CPU"});
}

absl::StatusOr<DeviceInfo> GpuInfo(int) { return None(); }
absl::StatusOr<int> GpuCount() { return None(); }

KeepCurrentGpu::KeepCurrentGpu(bool) : before_(-1) {}
KeepCurrentGpu::~KeepCurrentGpu() = default;

}  // namespace onnx_cudnn
