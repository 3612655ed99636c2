#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/exec/device.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// A Session's weights on its Device. Each derived form is made once, by content and recipe: Programs of other shapes and
// Partitions of equal signature share it. Thread-safe.
class ConstantStore {
 public:
  explicit ConstantStore(Device& device) : device_(device) {}
  absl::StatusOr<std::shared_ptr<const std::byte>> Get(const ConstantUse& use, Space space);
  int made() const;             // forms made so far
  int64_t bytes() const;        // of the forms that are held

 private:
  struct Entry;
  Device& device_;
  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onnx_cudnn
