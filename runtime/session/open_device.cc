#include "runtime/session/open_device.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
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

absl::StatusOr<OpenedDevice> OpenCuda(int ordinal, const OnDeviceInfo& on_info, GpuSetup setup) {
  OpenedDevice opened{.ordinal = ordinal};
  std::future<void> libraries;
  const auto opens_libraries = [&](const DeviceInfo& info) {
    libraries = OpenGpuLibraries();  // while the context is created
    if (on_info) on_info(info);
  };
  ASSIGN_OR_RETURN(opened.device, OpenGpu(ordinal, opens_libraries));
  setup.compilers.command.push_back(absl::StrCat(ordinal));
  ASSIGN_OR_RETURN(opened.target, MakeGpuTarget(*opened.device, ordinal, setup));
  opened.note = opened.target.note;
  return opened;
}

absl::StatusOr<OpenedDevice> Open(const SessionOptions& options, const OnDeviceInfo& on_info,
                                  GpuSetup setup) {
  const DeviceChoice choice = options.device;
  const std::string& target = options.target;
  if (choice == DeviceChoice::kCuda && !target.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "target \"%s\": Programs for it run on the CPU device, expected none on a GPU", target));
  }
  if (choice == DeviceChoice::kCpu || !target.empty()) return OpenCpu(target);
  absl::StatusOr<OpenedDevice> opened = OpenCuda(options.device_ordinal, on_info, std::move(setup));
  if (choice == DeviceChoice::kCuda || !absl::IsFailedPrecondition(opened.status())) return opened;
  const std::string reason(opened.status().message());
  ASSIGN_OR_RETURN(opened, OpenCpu(target));
  opened->note = absl::StripPrefix(reason, "no usable GPU: ");
  return opened;
}

}  // namespace

absl::StatusOr<OpenedDevice> OpenDevice(const SessionOptions& options,
                                        const OnDeviceInfo& on_info) {
  return OpenDeviceWith(options, on_info, /*setup=*/{});
}

absl::StatusOr<OpenedDevice> OpenDeviceWith(const SessionOptions& options,
                                            const OnDeviceInfo& on_info, GpuSetup setup) {
  ASSIGN_OR_RETURN(OpenedDevice opened, Open(options, on_info, std::move(setup)));
  RETURN_IF_ERROR(SetCapability(opened.target, options.compute_capability));
  return opened;
}

absl::StatusOr<OpenedDevice> OpenDeviceWithCompilers(const SessionOptions& options,
                                                     std::vector<std::string> command) {
  constexpr int kMost = 8;
  const int threads = options.threads > 0 ? options.threads : ThreadPool::Default().threads();
  return OpenDeviceWith(
      options, /*on_info=*/{},
      {.compilers = {.command = std::move(command), .most = std::min(kMost, threads / 2)}});
}

OpeningDevice::OpeningDevice(const SessionOptions& options, Open open) {
  const auto told = std::make_shared<std::promise<std::optional<DeviceInfo>>>();
  info_ = told->get_future();
  // Copied, so that a thread that does not start leaves it for Get, which then opens the device.
  const auto work = [&options, open = std::move(open), told] {
    bool is_told = false;
    const auto tell = [&](std::optional<DeviceInfo> info) {
      if (!std::exchange(is_told, true)) told->set_value(std::move(info));
    };
    const absl::Cleanup nothing_more = [&] { tell(std::nullopt); };
    return open(options, tell);
  };
  opened_ = std::async(work);
}

std::optional<DeviceInfo> OpeningDevice::Info() {
  const bool is_opening = opened_.wait_for(std::chrono::seconds(0)) != std::future_status::deferred;
  return is_opening ? info_.get() : std::nullopt;
}

absl::StatusOr<OpenedDevice> OpeningDevice::Get() {
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(OpenedDevice opened, opened_.get());
  opened.open_ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  RETURN_IF_ERROR(opened.device->MakeCurrent());
  return opened;
}

}  // namespace onnx_cudnn
