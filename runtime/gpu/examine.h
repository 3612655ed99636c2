#pragma once

#include "absl/status/statusor.h"
#include "onnx_cudnn/doctor.h"
#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// Fills in the driver, the GPUs and the libraries of `report`, and a finding for each that is
// missing or cannot be used. Creates a context on the first GPU.
void ExamineGpus(DoctorReport& report);

// The rates of a GPU, from its properties, without creating a context.
//   errors  FailedPrecondition, one line: what was found, what is needed, what to do
absl::StatusOr<DeviceInfo> GpuInfo(int ordinal);

// How many GPUs are visible to this process.
//   errors  FailedPrecondition: none
absl::StatusOr<int> GpuCount();

}  // namespace onnx_cudnn
