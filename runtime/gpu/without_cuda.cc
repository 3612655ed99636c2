#include "runtime/gpu/examine.h"
#include "runtime/gpu/gpu.h"

namespace onnx_cudnn {
namespace {

absl::Status None() {
  return absl::FailedPreconditionError(
      "no usable GPU: this program was built without CUDA: build it with ONNX_CUDNN_CUDA=ON");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenGpu(int) { return None(); }
absl::StatusOr<OwnedTarget> MakeGpuTarget(const Device&, int) { return None(); }

void ExamineGpus(DoctorReport& report) {
  report.findings.push_back({.what = "this program was built without CUDA",
                             .remedy = "cmake --preset cuda && cmake --build --preset cuda",
                             .without = "models run on the CPU"});
}

absl::StatusOr<DeviceInfo> GpuInfo(int) { return None(); }

KeepCurrentGpu::KeepCurrentGpu(bool) : before_(-1) {}
KeepCurrentGpu::~KeepCurrentGpu() = default;

}  // namespace onnx_cudnn
