#include "runtime/session/transfers.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kPinnedBytes = int64_t{1} << 22;  // size of one transfer

}  // namespace

absl::Status Transfers::Prepare() {
  if (pinned_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(streams_, device_.CreateStreams(1));
  ASSIGN_OR_RETURN(pinned_, device_.Allocate(kPinnedBytes, Space::kHost));
  return absl::OkStatus();
}

absl::Status Transfers::ToHost(const void* from, void* to, int64_t bytes, void* callers_stream) {
  absl::MutexLock lock(mutex_);
  RETURN_IF_ERROR(Prepare());
  if (callers_stream != nullptr) RETURN_IF_ERROR(streams_->Fork(callers_stream));
  for (int64_t done = 0; done < bytes; done += kPinnedBytes) {
    const int64_t count = std::min(bytes - done, kPinnedBytes);
    const auto* source = static_cast<const std::byte*>(from) + done;
    RETURN_IF_ERROR(streams_->Copy(/*stream=*/0, pinned_.get(), source, count));
    RETURN_IF_ERROR(streams_->Synchronize());
    std::memcpy(static_cast<std::byte*>(to) + done, pinned_.get(), count);
  }
  return absl::OkStatus();
}

absl::Status Transfers::ToDevice(const void* from, void* to, int64_t bytes) {
  absl::MutexLock lock(mutex_);
  RETURN_IF_ERROR(Prepare());
  for (int64_t done = 0; done < bytes; done += kPinnedBytes) {
    const int64_t count = std::min(bytes - done, kPinnedBytes);
    std::memcpy(pinned_.get(), static_cast<const std::byte*>(from) + done, count);
    auto* target = static_cast<std::byte*>(to) + done;
    RETURN_IF_ERROR(streams_->Copy(/*stream=*/0, target, pinned_.get(), count));
    RETURN_IF_ERROR(streams_->Synchronize());
  }
  return absl::OkStatus();
}

absl::Status Transfers::WithinDevice(const void* from, void* to, int64_t bytes) {
  absl::MutexLock lock(mutex_);
  RETURN_IF_ERROR(Prepare());
  RETURN_IF_ERROR(streams_->Copy(/*stream=*/0, to, from, bytes));
  return streams_->Synchronize();
}

absl::Status Transfers::FillWithin(absl::Span<std::byte> to, absl::Span<const BoxCopy> boxes,
                                   void* callers_stream) {
  absl::MutexLock lock(mutex_);
  RETURN_IF_ERROR(Prepare());
  if (callers_stream != nullptr) RETURN_IF_ERROR(streams_->Fork(callers_stream));
  absl::Status status;
  if (!to.empty()) status = streams_->Clear(/*stream=*/0, to.data(), std::ssize(to));
  for (size_t i = 0; status.ok() && i < boxes.size(); ++i) {
    status = streams_->CopyBox(/*stream=*/0, boxes[i]);
  }
  const absl::Status ended = streams_->Synchronize();  // `to` may be freed behind a failure
  return status.ok() ? ended : status;
}

absl::Status Transfers::WaitFor(void* callers_stream) {
  absl::MutexLock lock(mutex_);
  RETURN_IF_ERROR(Prepare());
  RETURN_IF_ERROR(streams_->Fork(callers_stream));
  return streams_->Synchronize();
}

}  // namespace onnx_cudnn
