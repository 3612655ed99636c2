#include "runtime/exec/queued_streams.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

void Poison(absl::Span<const absl::Span<std::byte>> scratch) {
  for (absl::Span<std::byte> bytes : scratch) {
    if (!bytes.empty()) std::memset(bytes.data(), 0xff, bytes.size());  // NaN in every float type
  }
}

namespace {

using Pointers = std::vector<const void*>;

// A deferred launch, with its own copy of the spans.
struct Deferred {
  const Step* step = nullptr;
  Pointers in;
  std::vector<void*> out;
  Pointers constants;
  void* workspace = nullptr;
  StreamRef stream;
  uint64_t* fault = nullptr;
  std::vector<absl::Span<std::byte>> scratch;

  absl::Status Run(bool poison) const {
    if (poison) Poison(scratch);
    return step->Launch({.in = in,
                         .out = out,
                         .constants = constants,
                         .workspace = workspace,
                         .stream = stream,
                         .fault = fault});
  }
};

struct Bytes {
  void* to = nullptr;
  const void* from = nullptr;
  int64_t count = 0;
};

absl::Status NoCapture() {
  return absl::UnimplementedError("the CPU device captures nothing: it runs steps at once");
}

}  // namespace

struct QueuedStreams::Command {
  enum class Kind { kLaunch, kCopy, kClear, kRecord, kWait, kReplay, kMark };
  Kind kind;
  int event = 0;  // or mark
  Deferred launch = {};
  Bytes copy = {};
  const Work* recording = nullptr;
};

struct QueuedStreams::Work {
  explicit Work(int streams) : queues(streams) {}

  std::vector<int> Ready() const {
    std::vector<int> ready;
    for (size_t s = 0; s < queues.size(); ++s) {
      if (queues[s].empty()) continue;
      const Command& front = queues[s].front();
      const bool waits = front.kind == Command::Kind::kWait && !reached[front.event];
      if (!waits) ready.push_back(static_cast<int>(s));
    }
    return ready;
  }

  std::vector<std::deque<Command>> queues;
  std::vector<bool> reached;  // by event
};

struct QueuedStreams::Recording final : CapturedGraph {
  explicit Recording(std::unique_ptr<Work> work) : work(std::move(work)) {}
  const std::unique_ptr<const Work> work;
};

QueuedStreams::QueuedStreams(const QueuedStreamsOptions& options)
    : options_(options), random_(options.seed), now_(std::make_unique<Work>(options.count)) {}

QueuedStreams::~QueuedStreams() = default;

absl::Status QueuedStreams::Launch(int stream, const Step& step, const LaunchArgs& args,
                                   absl::Span<const absl::Span<std::byte>> scratch) {
  // Parentheses, because braces would select a constructor from a list of two pointers.
  Deferred launch{.step = &step,
                  .in = Pointers(args.in.begin(), args.in.end()),
                  .out = std::vector<void*>(args.out.begin(), args.out.end()),
                  .constants = Pointers(args.constants.begin(), args.constants.end()),
                  .workspace = args.workspace,
                  .stream = args.stream,
                  .fault = args.fault,
                  .scratch = {scratch.begin(), scratch.end()}};
  enqueued().queues[stream].push_back(
      {.kind = Command::Kind::kLaunch, .launch = std::move(launch)});
  return absl::OkStatus();
}

absl::Status QueuedStreams::LaunchOnHost(int stream, const Step& step, const LaunchArgs& args,
                                         absl::Span<const absl::Span<std::byte>> scratch) {
  return Launch(stream, step, args, scratch);
}

absl::Status QueuedStreams::Copy(int stream, void* to, const void* from, int64_t bytes) {
  enqueued().queues[stream].push_back(
      {.kind = Command::Kind::kCopy, .copy = {.to = to, .from = from, .count = bytes}});
  return absl::OkStatus();
}

absl::Status QueuedStreams::Clear(int stream, void* to, int64_t bytes) {
  enqueued().queues[stream].push_back(
      {.kind = Command::Kind::kClear, .copy = {.to = to, .count = bytes}});
  return absl::OkStatus();
}

absl::StatusOr<int> QueuedStreams::Record(int stream) {
  Work& work = enqueued();
  const int event = static_cast<int>(work.reached.size());
  work.reached.push_back(false);
  work.queues[stream].push_back({.kind = Command::Kind::kRecord, .event = event});
  return event;
}

absl::Status QueuedStreams::Wait(int stream, int event) {
  Work& work = enqueued();
  if (event < 0 || event >= static_cast<int>(work.reached.size())) {
    return absl::InternalError(
        absl::StrCat("wait for event ", event, ", ", work.reached.size(), " were recorded"));
  }
  work.queues[stream].push_back({.kind = Command::Kind::kWait, .event = event});
  return absl::OkStatus();
}

absl::Status QueuedStreams::Synchronize() {
  return Drain(std::move(*std::exchange(now_, std::make_unique<Work>(options_.count))));
}

absl::Status QueuedStreams::BeginCapture() {
  if (!options_.captures) return NoCapture();
  if (capture_ != nullptr) return absl::InternalError("a capture is going on already");
  capture_ = std::make_unique<Work>(options_.count);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CapturedGraph>> QueuedStreams::EndCapture() {
  if (capture_ == nullptr) return absl::InternalError("no capture is going on");
  return std::make_unique<Recording>(std::move(capture_));
}

absl::Status QueuedStreams::Replay(const CapturedGraph& graph) {
  const auto& recording = static_cast<const Recording&>(graph);
  enqueued().queues[0].push_back(
      {.kind = Command::Kind::kReplay, .recording = recording.work.get()});
  return absl::OkStatus();
}

absl::Status QueuedStreams::Mark(int stream, int mark) {
  enqueued().queues[stream].push_back({.kind = Command::Kind::kMark, .event = mark});
  return absl::OkStatus();
}

absl::Status QueuedStreams::Fork(void*) {
  if (options_.captures) return absl::OkStatus();
  return absl::InvalidArgumentError("the CPU device has no streams");
}

absl::Status QueuedStreams::Join(void* callers_stream) { return Fork(callers_stream); }

absl::Status QueuedStreams::Drain(Work work) {
  for (std::vector<int> ready = work.Ready(); !ready.empty(); ready = work.Ready()) {
    RETURN_IF_ERROR(RunFront(work, ready[random_() % ready.size()]));
  }
  const bool stuck = std::any_of(work.queues.begin(), work.queues.end(),
                                 [](const auto& queue) { return !queue.empty(); });
  return stuck ? absl::InternalError("every stream waits for another one") : absl::OkStatus();
}

absl::Status QueuedStreams::RunFront(Work& work, int stream) {
  const Command command = std::move(work.queues[stream].front());
  work.queues[stream].pop_front();
  switch (command.kind) {
    case Command::Kind::kRecord:
      work.reached[command.event] = true;
      return absl::OkStatus();
    case Command::Kind::kWait:
      return absl::OkStatus();
    case Command::Kind::kCopy:
      std::memcpy(command.copy.to, command.copy.from, command.copy.count);
      return absl::OkStatus();
    case Command::Kind::kClear:
      std::memset(command.copy.to, 0, command.copy.count);
      return absl::OkStatus();
    case Command::Kind::kReplay:
      return Drain(*command.recording);
    case Command::Kind::kMark:
      marks_.Set(command.event);
      return absl::OkStatus();
    case Command::Kind::kLaunch:
      break;
  }
  return command.launch.Run(options_.poison);
}

}  // namespace onnx_cudnn
