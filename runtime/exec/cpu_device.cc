#include "runtime/exec/cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/exception.h"
#include "runtime/exec/host_marks.h"
#include "runtime/exec/queued_streams.h"
#include "runtime/plan/known_devices.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kAlignment = 256;

int64_t PageBytes(int pages) { return int64_t{sysconf(pages)} * sysconf(_SC_PAGESIZE); }

// Runs everything immediately, in launch order.
class ImmediateStreams final : public StreamSet {
 public:
  explicit ImmediateStreams(bool poison) : poison_(poison) {}
  absl::Status Launch(int, const Step& step, const LaunchArgs& args,
                      absl::Span<const absl::Span<std::byte>> scratch) override {
    if (poison_) Poison(scratch);
    return step.Launch(args);
  }
  absl::StatusOr<int> Record(int) override { return 0; }
  absl::Status Wait(int, int) override { return absl::OkStatus(); }
  absl::Status Synchronize() override { return absl::OkStatus(); }
  absl::Status LaunchOnHost(int stream, const Step& step, const LaunchArgs& args,
                            absl::Span<const absl::Span<std::byte>> scratch) override {
    return Launch(stream, step, args, scratch);
  }
  absl::Status Copy(int, void* to, const void* from, int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return absl::OkStatus();
  }
  absl::Status Clear(int, void* to, int64_t bytes) override {
    if (bytes > 0) std::memset(to, 0, bytes);
    return absl::OkStatus();
  }
  absl::Status BeginCapture() override {
    return absl::UnimplementedError("the CPU device captures nothing: it runs steps at once");
  }
  absl::StatusOr<std::unique_ptr<CapturedGraph>> EndCapture() override { return BeginCapture(); }
  absl::Status Replay(const CapturedGraph&) override { return BeginCapture(); }
  absl::Status Mark(int, int mark) override {
    marks_.Set(mark);
    return absl::OkStatus();
  }
  absl::StatusOr<double> MsBetween(int from, int to) override { return marks_.MsBetween(from, to); }
  absl::Status Fork(void*) override {
    return absl::InvalidArgumentError("the CPU device has no streams");
  }
  absl::Status Join(void* callers_stream) override { return Fork(callers_stream); }

 private:
  const bool poison_;
  HostMarks marks_;
};

// Which bytes are allocated here and not freed yet. Thread-safe.
class OwnMemory {
 public:
  void Add(const std::byte* data, int64_t bytes) {
    absl::MutexLock lock(mutex_);
    ranges_[data] = bytes;
  }
  void Remove(const std::byte* data) {
    absl::MutexLock lock(mutex_);
    ranges_.erase(data);
  }
  bool Holds(const void* pointer) const {
    absl::MutexLock lock(mutex_);
    const auto* data = static_cast<const std::byte*>(pointer);
    auto after = ranges_.upper_bound(data);
    if (after == ranges_.begin()) return false;
    const auto& [begin, bytes] = *std::prev(after);
    return data < begin + bytes;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<const std::byte*, int64_t> ranges_ ABSL_GUARDED_BY(mutex_);
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuDeviceOptions& options) : options_(options) {
    info_.memory_bytes = PageBytes(_SC_PHYS_PAGES);
  }

  std::string_view name() const override { return "cpu"; }
  const DeviceInfo& info() const override { return info_; }
  bool reads_host_memory() const override { return !options_.like_a_gpu; }
  bool poisons() const override { return options_.poison; }

  absl::StatusOr<bool> ReadsDirectly(const void* data) override {
    return !options_.like_a_gpu || own_->Holds(data);
  }

  absl::Status CopyFromPeer(void* to, const void* from, int, int64_t bytes) override {
    std::memcpy(to, from, bytes);
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space) override {
    // The system would grant more memory than the machine has, and fail only when it is written.
    void* data = nullptr;
    if (bytes <= info_.memory_bytes) {
      const int64_t rounded = std::max((bytes + kAlignment - 1) / kAlignment, int64_t{1});
      data = std::aligned_alloc(kAlignment, rounded * kAlignment);
    }
    if (data == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("host memory: ", bytes, " bytes asked, ",
                                                       PageBytes(_SC_AVPHYS_PAGES), " free",
                                                       LimitOfProcess()));
    }
    auto* memory = static_cast<std::byte*>(data);
    if (!options_.like_a_gpu) return std::shared_ptr<std::byte>(memory, std::free);
    own_->Add(memory, bytes);
    return std::shared_ptr<std::byte>(memory, [own = own_](std::byte* p) {
      own->Remove(p);
      std::free(p);
    });
  }

  absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& tensor,
                                                          Space) override {
    auto owner = std::make_shared<HostTensor>(tensor);
    return std::shared_ptr<const std::byte>(owner, static_cast<const std::byte*>(owner->raw()));
  }

  absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) override {
    if (!options_.interleave_seed.has_value() && !options_.like_a_gpu) {
      return std::make_unique<ImmediateStreams>(options_.poison);
    }
    return std::make_unique<QueuedStreams>(
        QueuedStreamsOptions{.count = count,
                             .seed = options_.interleave_seed.value_or(0),
                             .poison = options_.poison,
                             .captures = options_.like_a_gpu});
  }

 private:
  const CpuDeviceOptions options_;
  DeviceInfo info_ = Host();
  const std::shared_ptr<OwnMemory> own_ = std::make_shared<OwnMemory>();
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice(const CpuDeviceOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace onnx_cudnn
