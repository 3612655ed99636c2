#include "runtime/session/open_device.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/gpu/gpu.h"

namespace onnx_cudnn {
namespace {

absl::StatusOr<OpenedDevice> OpenCpu(std::string_view target) {
  OpenedDevice opened;
  ASSIGN_OR_RETURN(opened.target, MakeTarget(target.empty() ? "cpu" : target));
  opened.device = MakeCpuDevice();
  return opened;
}

absl::StatusOr<OpenedDevice> OpenCuda(int ordinal) {
  OpenedDevice opened{.ordinal = ordinal};
  ASSIGN_OR_RETURN(opened.device, OpenGpu(ordinal));
  ASSIGN_OR_RETURN(opened.target, MakeGpuTarget(*opened.device, ordinal));
  opened.note = opened.target.note;
  return opened;
}

absl::StatusOr<OpenedDevice> Open(const SessionOptions& options) {
  const DeviceChoice choice = options.device;
  const std::string& target = options.target;
  if (choice == DeviceChoice::kCuda && !target.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "target \"%s\": Programs for it run on the CPU device, expected none on a GPU", target));
  }
  if (choice == DeviceChoice::kCpu || !target.empty()) return OpenCpu(target);
  absl::StatusOr<OpenedDevice> opened = OpenCuda(options.device_ordinal);
  if (choice == DeviceChoice::kCuda || !absl::IsFailedPrecondition(opened.status())) return opened;
  const std::string reason(opened.status().message());
  ASSIGN_OR_RETURN(opened, OpenCpu(target));
  opened->note = absl::StripPrefix(reason, "no usable GPU: ");
  return opened;
}

}  // namespace

absl::StatusOr<OpenedDevice> OpenDevice(const SessionOptions& options) {
  ASSIGN_OR_RETURN(OpenedDevice opened, Open(options));
  RETURN_IF_ERROR(SetCapability(opened.target, options.compute_capability));
  return opened;
}

OpeningDevice::OpeningDevice(
    const SessionOptions& options,
    absl::FunctionRef<absl::StatusOr<OpenedDevice>(const SessionOptions&)> open)
    : opened_(std::async([&options, open] { return open(options); })) {}

absl::StatusOr<OpenedDevice> OpeningDevice::Get() {
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(OpenedDevice opened, opened_.get());
  opened.open_ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  RETURN_IF_ERROR(opened.device->MakeCurrent());
  return opened;
}

}  // namespace onnx_cudnn
