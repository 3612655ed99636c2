#include "runtime/session/session_device.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/session/shared_arena.h"

namespace onnx_cudnn {

SessionDevice::SessionDevice(OpenedDevice opened, std::shared_ptr<const CompiledModel> compiled)
    : ordinal_(opened.ordinal),
      note_(std::move(opened.note)),
      target_(std::move(opened.target)),
      body_target_(opened.body_target),
      keeps_bodies_(opened.keeps_bodies),
      device_(std::move(opened.device)),
      compiled_(std::move(compiled)),
      constants_(std::make_unique<ConstantStore>(*device_, compiled_)),
      transfers_(std::make_unique<Transfers>(*device_)) {}

absl::StatusOr<std::unique_ptr<SessionDevice>> SessionDevice::Create(
    OpenedDevice opened, const SessionOptions& options,
    std::shared_ptr<const CompiledModel> compiled) {
  std::unique_ptr<SessionDevice> made(new SessionDevice(std::move(opened), std::move(compiled)));
  Target& target = made->target_.target;
  if (options.max_memory_bytes > 0) target.max_bytes = options.max_memory_bytes;
  target.numerics.tf32 = options.precision == PrecisionChoice::kTf32;
  target.numerics.nondeterminism = options.allow_nondeterministic;
  // What PoolMaker counts within a limit has no room for larger blocks.
  made->pinned_ = std::make_shared<PinnedPool>(*made->device_, options.max_memory_bytes > 0
                                                                   ? PinnedPool::Fit::kExact
                                                                   : PinnedPool::Fit::kLoose);
  // Within a limit the memory of forms that no Step wants may be missing.
  const bool uploads = made->compiled_ != nullptr && !made->device_->reads_host_memory() &&
                       options.max_memory_bytes == 0;
  if (uploads) made->constants_->UploadStored();
  if (options.arena != nullptr) {
    ASSIGN_OR_RETURN(made->arena_lock_, options.arena->impl_->Lock(made->device_, made->ref()));
  }
  return made;
}

DeviceRef SessionDevice::ref() const {
  if (device_->reads_host_memory()) return {};
  return {.kind = DeviceKind::kCuda, .ordinal = ordinal_};
}

DeviceFacts SessionDevice::facts() const {
  const PlatformVersions platform = device_->versions();
  DeviceFacts facts{.product = device_->info().name,
                    .driver = platform.driver,
                    .cuda = platform.cuda,
                    .cudnn = "",
                    .cublaslt = ""};
  if (facts.cuda.empty()) return facts;
  for (const auto& engine : target_.engines) {
    if (engine->name() == "cudnn") facts.cudnn = engine->version();
    if (engine->name() == "gemm") facts.cublaslt = engine->version();
  }
  return facts;
}

}  // namespace onnx_cudnn
