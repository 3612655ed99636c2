#include "runtime/session/shared_arena.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/forked.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

SharedArena::SharedArena(int64_t bytes) : impl_(new Impl{.bytes = bytes}) {}
SharedArena::~SharedArena() { AbandonIfForked(impl_->arena_lock); }
int64_t SharedArena::bytes() const { return impl_->bytes; }

absl::StatusOr<std::shared_ptr<ArenaLock>> SharedArena::Impl::Lock(
    const std::shared_ptr<Device>& device, DeviceRef ref) {
  if (bytes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("option arena: expected 1 byte or more, found ", bytes));
  }
  absl::MutexLock lock(mutex);
  if (arena_lock == nullptr) {
    auto made = std::make_shared<ArenaLock>();
    made->owner = device;
    ASSIGN_OR_RETURN(made->memory, device->Allocate(bytes, Space::kDevice));
    made->bytes = bytes;
    arena_lock = std::move(made);
    lies_on = ref;
  }
  if (lies_on != ref) {
    return absl::InvalidArgumentError(absl::StrCat("option arena: it lies on another device than ",
                                                   device->name(), ", where this runs"));
  }
  return arena_lock;
}

}  // namespace onnx_cudnn
