#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/exec/arena_lock.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/exec/pinned_pool.h"
#include "runtime/session/compiled_model.h"
#include "runtime/session/open_device.h"
#include "runtime/session/transfers.h"

namespace onnx_cudnn {

// The device of a Session: the Device with the weights in its memory, and the Target for which
// Programs are built. Thread-safe.
class SessionDevice {
 public:
  // Applies the options that concern the Device.
  //   compiled  has forms of weights; may be null
  //   errors  those of options.arena (shared_arena.h)
  static absl::StatusOr<std::unique_ptr<SessionDevice>> Create(
      OpenedDevice opened, const SessionOptions& options,
      std::shared_ptr<const CompiledModel> compiled = nullptr);

  Device& device() const { return *device_; }
  // The memory that Steps access in place.
  DeviceRef ref() const;
  DeviceFacts facts() const;
  const std::string& note() const { return note_; }  // why kAuto selected it
  const Target& target() const { return target_.target; }
  // As BuildOptions::body_target.
  const Target* body_target() const {
    if (keeps_bodies_) return nullptr;
    return body_target_ == nullptr ? &target() : body_target_;
  }
  ConstantStore& constants() const { return *constants_; }
  // From which the model was read as it is; nullptr: none.
  const CompiledModel* compiled() const { return compiled_.get(); }
  Transfers& transfers() const { return *transfers_; }
  // Null: each Executor has its own arena.
  const std::shared_ptr<ArenaLock>& arena_lock() const { return arena_lock_; }
  // Of all its Executors.
  const std::shared_ptr<PinnedPool>& pinned() const { return pinned_; }
  std::atomic<int64_t>& captures() const { return captures_; }  // by the Executors of its Programs

 private:
  SessionDevice(OpenedDevice opened, std::shared_ptr<const CompiledModel> compiled);

  const int ordinal_;
  const std::string note_;
  OwnedTarget target_;
  const Target* const body_target_;
  const bool keeps_bodies_;
  const std::shared_ptr<Device> device_;
  std::shared_ptr<ArenaLock> arena_lock_;
  std::shared_ptr<PinnedPool> pinned_;
  const std::shared_ptr<const CompiledModel> compiled_;
  const std::unique_ptr<ConstantStore> constants_;
  const std::unique_ptr<Transfers> transfers_;
  mutable std::atomic<int64_t> captures_ = 0;
};

}  // namespace onnx_cudnn
