#include "runtime/exec/cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kAlignment = 256;

int64_t PageBytes(int pages) { return int64_t{sysconf(pages)} * sysconf(_SC_PAGESIZE); }

void Poison(absl::Span<const absl::Span<std::byte>> scratch) {
  for (absl::Span<std::byte> bytes : scratch) {
    if (!bytes.empty()) std::memset(bytes.data(), 0xff, bytes.size());  // NaN in every float type
  }
}

// Runs everything in launch order, at once.
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

 private:
  const bool poison_;
};

using Pointers = std::vector<const void*>;

// A launch that was put off, with its own copy of the spans.
struct Deferred {
  const Step* step;
  Pointers in;
  std::vector<void*> out;
  Pointers constants;
  void* workspace;
  StreamRef stream;
  std::vector<absl::Span<std::byte>> scratch;

  absl::Status Run(bool poison) const {
    if (poison) Poison(scratch);
    return step->Launch(
        {.in = in, .out = out, .constants = constants, .workspace = workspace, .stream = stream});
  }
};

struct Command {
  enum class Kind { kLaunch, kRecord, kWait };
  Kind kind;
  int event = 0;
  Deferred launch = {};
};

// Keeps a queue a stream and drains them in a random order that respects only the queues and the
// waits.
class InterleavedStreams final : public StreamSet {
 public:
  InterleavedStreams(int count, uint64_t seed, bool poison)
      : queues_(count), random_(seed), poison_(poison) {}

  absl::Status Launch(int stream, const Step& step, const LaunchArgs& args,
                      absl::Span<const absl::Span<std::byte>> scratch) override {
    // Parentheses: braces would make lists of two pointers.
    Deferred launch{.step = &step,
                    .in = Pointers(args.in.begin(), args.in.end()),
                    .out = std::vector<void*>(args.out.begin(), args.out.end()),
                    .constants = Pointers(args.constants.begin(), args.constants.end()),
                    .workspace = args.workspace,
                    .stream = args.stream,
                    .scratch = {scratch.begin(), scratch.end()}};
    queues_[stream].push_back({.kind = Command::Kind::kLaunch, .launch = std::move(launch)});
    return absl::OkStatus();
  }

  absl::StatusOr<int> Record(int stream) override {
    const int event = static_cast<int>(reached_.size());
    reached_.push_back(false);
    queues_[stream].push_back({.kind = Command::Kind::kRecord, .event = event});
    return event;
  }

  absl::Status Wait(int stream, int event) override {
    if (event < 0 || event >= static_cast<int>(reached_.size())) {
      return absl::InternalError(
          absl::StrCat("wait for event ", event, ", ", reached_.size(), " were recorded"));
    }
    queues_[stream].push_back({.kind = Command::Kind::kWait, .event = event});
    return absl::OkStatus();
  }

  absl::Status Synchronize() override {
    absl::Status status = absl::OkStatus();
    for (std::vector<int> ready = Ready(); status.ok() && !ready.empty(); ready = Ready()) {
      status = RunFront(ready[random_() % ready.size()]);
    }
    const bool stuck = std::any_of(queues_.begin(), queues_.end(),
                                   [](const auto& queue) { return !queue.empty(); });
    if (status.ok() && stuck) status = absl::InternalError("every stream waits for another one");
    for (auto& queue : queues_) queue.clear();
    reached_.clear();
    return status;
  }

 private:
  std::vector<int> Ready() const {
    std::vector<int> ready;
    for (size_t s = 0; s < queues_.size(); ++s) {
      if (queues_[s].empty()) continue;
      const Command& front = queues_[s].front();
      const bool waits = front.kind == Command::Kind::kWait && !reached_[front.event];
      if (!waits) ready.push_back(static_cast<int>(s));
    }
    return ready;
  }

  absl::Status RunFront(int stream) {
    const Command command = std::move(queues_[stream].front());
    queues_[stream].pop_front();
    if (command.kind == Command::Kind::kRecord) reached_[command.event] = true;
    if (command.kind != Command::Kind::kLaunch) return absl::OkStatus();
    return command.launch.Run(poison_);
  }

  std::vector<std::deque<Command>> queues_;
  std::vector<bool> reached_;  // by event
  std::mt19937_64 random_;
  const bool poison_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuDeviceOptions& options) : options_(options) {
    info_.memory_bytes = PageBytes(_SC_PHYS_PAGES);
  }

  std::string_view name() const override { return "cpu"; }
  const DeviceInfo& info() const override { return info_; }
  bool reads_host_memory() const override { return true; }
  bool poisons() const override { return options_.poison; }

  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space) override {
    // More than the machine has would be granted and only fail when it is written.
    void* data = nullptr;
    if (bytes <= info_.memory_bytes) {
      const int64_t rounded = std::max((bytes + kAlignment - 1) / kAlignment, int64_t{1});
      data = std::aligned_alloc(kAlignment, rounded * kAlignment);
    }
    if (data == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("host memory: ", bytes, " bytes asked, ",
                                                       PageBytes(_SC_AVPHYS_PAGES), " free"));
    }
    return std::shared_ptr<std::byte>(static_cast<std::byte*>(data), std::free);
  }

  absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& tensor,
                                                          Space) override {
    auto owner = std::make_shared<HostTensor>(tensor);
    return std::shared_ptr<const std::byte>(owner, static_cast<const std::byte*>(owner->raw()));
  }

  absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) override {
    if (options_.interleave_seed.has_value()) {
      return std::make_unique<InterleavedStreams>(count, *options_.interleave_seed,
                                                  options_.poison);
    }
    return std::make_unique<ImmediateStreams>(options_.poison);
  }

 private:
  const CpuDeviceOptions options_;
  DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice(const CpuDeviceOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace onnx_cudnn
