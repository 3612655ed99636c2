#pragma once

#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "runtime/exec/device.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

struct PlacedConstant {
  const ConstantUse* use;
  Space space;
};

// Forms of constants that another process made. Thread-safe.
class StoredForms {
 public:
  virtual ~StoredForms() = default;
  // Whether it holds all sources of `use`, none of them twice: equal bytes have equal addresses.
  virtual bool HoldsSources(const ConstantUse& use) const = 0;
  // The form of `use` as bytes; undefined: it has none.
  //   errors  InvalidArgument: it is damaged
  virtual absl::StatusOr<HostTensor> Find(const ConstantUse& use) const = 0;
  // Calls `body` for each form, with the bytes that Find returns, until it fails.
  virtual absl::Status ForEach(
      absl::FunctionRef<absl::Status(const HostTensor& form)> body) const = 0;
};

// The weights of a Session on its Device. Each derived form is made once per content and recipe:
// Programs of other shapes and Partitions of equal signature share it. Forms without owners are
// freed from time to time, so dropped Programs do not leak memory. Thread-safe.
class ConstantStore {
 public:
  //   stored  forms that need not be made; may be null
  explicit ConstantStore(Device& device, std::shared_ptr<const StoredForms> stored = nullptr)
      : device_(device), stored_(std::move(stored)) {}
  ~ConstantStore();

  // Begins to copy the stored forms to the device, on a thread of its own. The first GetAll waits
  // for that and drops those that it does not take. To be called once, before any other call. What
  // fails is tried again where a form is needed.
  void UploadStored();
  // The form of `use` in `space`: equal bytes, recipe, Format and Space give the same memory. If
  // the Device reads host memory, an unchanged constant is the source's own bytes, identified by
  // address.
  absl::StatusOr<std::shared_ptr<const std::byte>> Get(const ConstantUse& use, Space space);
  // The forms of all `uses`, made by all threads and uploaded by this one.
  absl::StatusOr<std::vector<std::shared_ptr<const std::byte>>> GetAll(
      absl::Span<const PlacedConstant> uses);
  // Bytes of the form of `use` that Get returned; 0 before Get.
  int64_t BytesOf(const ConstantUse& use, Space space);
  int made() const;       // distinct forms so far, with those that were stored
  int64_t bytes() const;  // bytes of these forms that are not freed

 private:
  struct Entry;
  using EntryPointer = std::shared_ptr<Entry>;
  EntryPointer FindOrAdd(const std::string& key, const ConstantUse& use);
  EntryPointer EntryOf(const ConstantUse& use, Space space);
  // Both return entries that nothing uses any more, so that their memory is freed without holding
  // the lock.
  std::vector<EntryPointer> Insert(const std::string& key, const EntryPointer& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<EntryPointer> TakeUnused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static bool IsMade(Entry& entry);
  absl::StatusOr<HostTensor> FormOf(const ConstantUse& use) const;
  absl::Status Make(Entry& entry, Space space,
                    absl::FunctionRef<absl::StatusOr<HostTensor>()> make);
  absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& tensor, Space space);
  absl::Status UploadEach();
  // Ends what UploadStored began.
  void DropUploaded();

  Device& device_;
  const std::shared_ptr<const StoredForms> stored_;
  mutable absl::Mutex mutex_;
  std::map<std::string, EntryPointer> entries_
      ABSL_GUARDED_BY(mutex_);                   // by identity and by content
  size_t free_at_ ABSL_GUARDED_BY(mutex_) = 64;  // number of keys
  int made_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  using Uploaded = std::map<const void*, std::shared_ptr<const std::byte>>;
  Uploaded uploaded_ ABSL_GUARDED_BY(mutex_);  // stored forms, by their bytes on the host
  std::shared_future<void> uploading_;         // its end waits for the thread
};

}  // namespace onnx_cudnn
