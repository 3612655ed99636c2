#include "runtime/exec/executor.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/host_span.h"
#include "runtime/base/run_times.h"
#include "runtime/base/status.h"
#include "runtime/exec/callers_tensors.h"

namespace onnx_cudnn {

// An operand in a caller's tensor; its address is set before each Run.
struct CallersOperand {
  int operand;  // index among the Step's inputs or outputs
  Operand::Kind kind;
  int index;
  int64_t offset;
};

struct Executor::Launchable {
  const Step* step = nullptr;
  int stream = 0;
  std::vector<int> waits;   // indices of Steps
  bool is_awaited = false;  // another stream waits for it
  bool on_host = false;     // its operands are in host memory
  bool next_uses_pdl = false, behind_barrier = false;
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<const void*> constants;
  void* workspace = nullptr;
  std::vector<CallersOperand> callers_in, callers_out;
  std::vector<absl::Span<std::byte>> scratch;            // in arenas
  std::vector<std::pair<int, int64_t>> callers_scratch;  // outputs in callers' tensors, and bytes
};

namespace {

// Streams keep one event per wait until they are synchronized.
constexpr int kMostUnfinished = 64;

bool Overlap(const Operand& a, const Operand& b) {
  const bool same_memory = a.kind == b.kind && a.space == b.space && a.index == b.index;
  return same_memory && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// Whether an output is written completely and shares no memory with the Step's inputs.
bool IsDeadBefore(const Operand& out, const Format& format, const std::vector<Operand>& in) {
  if (format.has_foreign_lanes()) return false;
  return std::none_of(in.begin(), in.end(), [&](const Operand& o) { return Overlap(o, out); });
}

// The address in a caller's tensor; an empty tensor may have none.
template <typename Byte, typename Pointer>
Pointer At(Pointer base, int64_t offset) {
  return base == nullptr ? nullptr : static_cast<Byte*>(base) + offset;
}

absl::Status CheckNot(const std::atomic<bool>* cancel) {
  if (cancel == nullptr || !cancel->load(std::memory_order_relaxed)) return absl::OkStatus();
  return absl::CancelledError("cancelled during the run");
}

// A Transfer also writes to host memory, but is work of the device.
bool RunsOnHost(const PlacedStep& placed, const Candidate& chosen) {
  const auto on_host = [](const Placement& p) { return p.space == Space::kHost; };
  return placed.space == Space::kHost &&
         std::all_of(chosen.inputs.begin(), chosen.inputs.end(), on_host);
}

}  // namespace

Executor::Executor(std::shared_ptr<const Program> program, Device& device,
                   const ExecutorOptions& options)
    : program_(std::move(program)),
      options_(options),
      staging_(program_->graph, device,
               options.pinned == nullptr ? std::make_shared<PinnedPool>(device) : options.pinned),
      poison_(device.poisons()) {}

// Nothing that is in use may be freed.
Executor::~Executor() {
  if (unfinished_ > 0) streams_->Synchronize().IgnoreError();
}

int64_t Executor::arena_bytes() const {
  return program_->memory.arena_bytes + program_->host_memory.arena_bytes;
}

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(std::shared_ptr<const Program> program,
                                                           Device& device, ConstantStore& constants,
                                                           const ExecutorOptions& options) {
  std::unique_ptr<Executor> executor(new Executor(std::move(program), device, options));
  const Program& p = *executor->program_;
  ASSIGN_OR_RETURN(executor->streams_, device.CreateStreams(p.schedule.streams));
  RETURN_IF_ERROR(executor->TakeArenas(device));
  ASSIGN_OR_RETURN(executor->faults_, FaultWords::Create(p, device));
  executor->steps_.resize(p.steps.size());
  for (size_t i = 0; i < p.steps.size(); ++i) executor->Resolve(static_cast<int>(i));
  RETURN_IF_ERROR(executor->TakeConstants(constants));
  for (const ScheduledStep& scheduled : p.schedule.steps) {
    Launchable& launchable = executor->steps_[scheduled.step];
    launchable.stream = scheduled.stream;
    launchable.waits = scheduled.waits;
    for (int wait : scheduled.waits) executor->steps_[wait].is_awaited = true;
  }
  if (!options.times_steps) executor->FindWhoseNextUsesPdl();
  executor->FindBarriers();
  executor->events_.resize(p.steps.size());
  return executor;
}

// A Step that another stream waits for is followed by an event on its stream; a Step that waits for
// another stream is preceded by a wait.
void Executor::FindWhoseNextUsesPdl() {
  std::vector<Launchable*> last(program_->schedule.streams, nullptr);  // by stream
  for (const ScheduledStep& scheduled : program_->schedule.steps) {
    Launchable& here = steps_[scheduled.step];
    Launchable*& before = last[here.stream];
    const bool launches = here.step->launches() && !here.on_host;
    if (before != nullptr && launches && here.waits.empty() && !before->is_awaited) {
      before->next_uses_pdl = here.step->uses_pdl();
    }
    if (!here.step->launches() && here.waits.empty() && !here.is_awaited) continue;
    before = launches ? &here : nullptr;
  }
}

// A Step that prefetches needs a barrier if the preceding launch on its stream writes what it
// prefetches, or if it waits for another stream: a launch that starts early ignores that event.
void Executor::FindBarriers() {
  std::vector<const PlacedStep*> last(program_->schedule.streams, nullptr);  // by stream
  for (const ScheduledStep& scheduled : program_->schedule.steps) {
    Launchable& here = steps_[scheduled.step];
    if (!here.step->launches()) continue;
    const PlacedStep& placed = program_->steps[scheduled.step];
    for (const int prefetched : here.step->prefetched_inputs()) {
      const auto writes_it = [&](const Operand& out) {
        return Overlap(out, placed.in[prefetched]);
      };
      const PlacedStep* before = last[here.stream];
      here.behind_barrier |=
          !here.waits.empty() ||
          (before != nullptr && std::any_of(before->out.begin(), before->out.end(), writes_it));
    }
    last[here.stream] = &placed;
  }
}

absl::Status Executor::TakeArenas(Device& device) {
  const PhaseTimer timer(RunPhase::kAllocate);
  const int64_t bytes = program_->memory.arena_bytes;
  const ArenaLock* const shared = options_.arena_lock.get();
  if (shared == nullptr) {
    ASSIGN_OR_RETURN(arena_, device.Allocate(bytes, Space::kDevice));
  } else if (bytes > shared->bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the arena takes ", bytes, " bytes, the shared one has ", shared->bytes));
  } else {
    arena_ = shared->memory;
  }
  ASSIGN_OR_RETURN(host_arena_, device.Allocate(program_->host_memory.arena_bytes, Space::kHost));
  return absl::OkStatus();
}

absl::Status Executor::LockArena() const {
  const PhaseTimer timer(RunPhase::kLock);
  return options_.arena_lock == nullptr ? absl::OkStatus() : options_.arena_lock->Take();
}

void Executor::UnlockArena() const {
  if (options_.arena_lock != nullptr) options_.arena_lock->Give();
}

std::byte* Executor::InArena(Space space, int64_t offset) const {
  return (space == Space::kHost ? host_arena_ : arena_).get() + offset;
}

absl::Status Executor::TakeConstants(ConstantStore& constants) {
  const PhaseTimer timer(RunPhase::kUpload);
  std::vector<PlacedConstant> uses;
  for (const PlacedStep& placed : program_->steps) {
    for (const ConstantUse& use : placed.constants) uses.push_back({&use, placed.space});
  }
  ASSIGN_OR_RETURN(constants_, constants.GetAll(uses));
  auto form = constants_.begin();
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (size_t n = program_->steps[i].constants.size(); n > 0; --n) {
      steps_[i].constants.push_back((form++)->get());
    }
  }
  return absl::OkStatus();
}

void Executor::Resolve(int index) {
  const PlacedStep& placed = program_->steps[index];
  const Partition& partition = program_->partitions[index];
  Launchable& launchable = steps_[index];
  launchable.step = partition.step.get();
  launchable.on_host = RunsOnHost(placed, partition.chosen);
  for (const Operand& operand : placed.in) {
    const int i = static_cast<int>(launchable.in.size());
    const bool is_ours = operand.kind == Operand::Kind::kArena;
    launchable.in.push_back(is_ours ? InArena(operand.space, operand.offset) : nullptr);
    if (!is_ours) launchable.callers_in.push_back({i, operand.kind, operand.index, operand.offset});
  }
  for (const Operand& operand : placed.out) {
    const int i = static_cast<int>(launchable.out.size());
    const bool is_ours = operand.kind == Operand::Kind::kArena;
    const bool is_dead = IsDeadBefore(operand, partition.chosen.outputs[i].format, placed.in);
    std::byte* data = is_ours ? InArena(operand.space, operand.offset) : nullptr;
    launchable.out.push_back(data);
    if (!is_ours) {
      launchable.callers_out.push_back({i, operand.kind, operand.index, operand.offset});
      if (is_dead) launchable.callers_scratch.push_back({i, operand.bytes});
    } else if (is_dead) {
      launchable.scratch.push_back({data, static_cast<size_t>(operand.bytes)});
    }
  }
  std::byte* workspace = InArena(placed.space, placed.workspace_offset);
  launchable.workspace = workspace;
  launchable.scratch.push_back(
      {workspace, static_cast<size_t>(launchable.step->workspace_bytes())});
}

absl::Status Executor::Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                           void* callers_stream, const std::atomic<bool>* cancel) {
  const Graph& graph = program_->graph;
  const HostScope scope("run");
  RETURN_IF_ERROR(CheckPointers(graph, inputs, outputs));
  RETURN_IF_ERROR(LockArena());
  const absl::Cleanup end = [this] {
    staging_.End();
    UnlockArena();
  };
  RETURN_IF_ERROR(CheckNot(cancel));
  RETURN_IF_ERROR(BeforeRun());
  ++unfinished_;
  const absl::Status enqueued = Enqueue(inputs, outputs, callers_stream, cancel);
  const bool may_go_on = callers_stream != nullptr && options_.arena_lock == nullptr &&
                         !staging_.touches_host() && !HasStrings(graph);
  if (enqueued.ok() && may_go_on) {
    runs_ = std::min(runs_ + 1, 2);
    return absl::OkStatus();
  }
  const absl::Status done = Synchronize();
  RETURN_IF_ERROR(enqueued);
  RETURN_IF_ERROR(done);
  runs_ = std::min(runs_ + 1, 2);
  staging_.Deliver();
  CopyStrings(graph, outputs);
  return absl::OkStatus();
}

absl::Status Executor::Synchronize() {
  const PhaseTimer timer(RunPhase::kDevice);
  unfinished_ = 0;
  const absl::Status done = streams_->Synchronize();
  const absl::Status fault = faults_.any() ? faults_.Take(*program_) : absl::OkStatus();
  return done.ok() ? fault : done;
}

// Earlier Runs may still be in progress: waits for them before the host accesses memory that they
// use.
absl::Status Executor::BeforeRun() {
  const bool waits = faults_.any() || poison_ || unfinished_ >= kMostUnfinished;
  if (unfinished_ > 0 && waits) RETURN_IF_ERROR(Synchronize());
  if (poison_) {
    std::memset(arena_.get(), 0xff, program_->memory.arena_bytes);
    std::memset(host_arena_.get(), 0xff, program_->host_memory.arena_bytes);
  }
  return absl::OkStatus();
}

absl::Status Executor::Enqueue(absl::Span<const void* const> inputs,
                               absl::Span<void* const> outputs, void* callers_stream,
                               const std::atomic<bool>* cancel) {
  using Addresses = Staging::Addresses;
  // The Run of a Binding, a measurement or a warm-up waits until it can capture; a later Run of
  // others does it, so that a Run does not wait for Programs that other threads build.
  const bool captures = options_.capture && runs_ > 0 && capture_note_.empty() &&
                        (graph_ != nullptr || waits_to_capture() || streams_->CanCaptureNow());
  const bool moves = captures && !options_.fixed_pointers;
  RETURN_IF_ERROR(
      staging_.Prepare(inputs, outputs, moves ? Addresses::kOurs : Addresses::kCallers));
  if (captures && graph_ == nullptr) {
    RETURN_IF_ERROR(Capture(cancel));
    if (graph_ == nullptr) {
      RETURN_IF_ERROR(staging_.Prepare(inputs, outputs, Addresses::kCallers));
    }
  }
  const PhaseTimer timer(RunPhase::kLaunch);
  if (callers_stream != nullptr) RETURN_IF_ERROR(streams_->Fork(callers_stream));
  RETURN_IF_ERROR(Mark(0, kBeforeCopyIn));
  RETURN_IF_ERROR(staging_.CopyIn(*streams_));
  RETURN_IF_ERROR(Mark(0, kAfterCopyIn));
  RETURN_IF_ERROR(graph_ != nullptr ? streams_->Replay(*graph_) : LaunchEagerly(cancel));
  RETURN_IF_ERROR(Mark(0, kBeforeCopyOut));
  RETURN_IF_ERROR(staging_.CopyOut(*streams_));
  RETURN_IF_ERROR(Mark(0, kAfterCopyOut));
  return callers_stream == nullptr ? absl::OkStatus() : streams_->Join(callers_stream);
}

// If the Device cannot capture, `graph_` stays null and the note is set; without the note a later
// Run tries again.
absl::Status Executor::Capture(const std::atomic<bool>* cancel) {
  const PhaseTimer timer(RunPhase::kCapture);
  absl::Status captured =
      waits_to_capture() ? streams_->BeginCapture() : streams_->BeginCaptureAtOnce();
  if (absl::IsUnavailable(captured)) return absl::OkStatus();
  if (captured.ok()) {
    captured = LaunchAll(cancel);
    absl::StatusOr<std::unique_ptr<CapturedGraph>> graph = streams_->EndCapture();
    if (captured.ok()) captured = graph.status();
    if (captured.ok()) graph_ = *std::move(graph);
    if (captured.ok() && options_.captures != nullptr) ++*options_.captures;
  }
  // A driver that refuses marks within a graph still runs the Steps.
  const bool is_refused =
      absl::IsUnimplemented(captured) || (options_.times_steps && absl::IsInternal(captured));
  if (!is_refused) return captured;
  capture_note_ = std::string(captured.message());
  return absl::OkStatus();
}

// Every stream starts after the input copies, and after an earlier Run, on stream 0; the output
// copies there start after every stream.
absl::Status Executor::LaunchEagerly(const std::atomic<bool>* cancel) {
  const int streams = program_->schedule.streams;
  if (streams > 1) {
    ASSIGN_OR_RETURN(const int begun, streams_->Record(0));
    for (int s = 1; s < streams; ++s) RETURN_IF_ERROR(streams_->Wait(s, begun));
  }
  RETURN_IF_ERROR(LaunchAll(cancel));
  for (int s = 1; s < streams; ++s) {
    ASSIGN_OR_RETURN(const int ended, streams_->Record(s));
    RETURN_IF_ERROR(streams_->Wait(0, ended));
  }
  return absl::OkStatus();
}

absl::Status Executor::LaunchAll(const std::atomic<bool>* cancel) {
  for (const ScheduledStep& scheduled : program_->schedule.steps) {
    RETURN_IF_ERROR(CheckNot(cancel));
    RETURN_IF_ERROR(Launch(scheduled.step));
  }
  return absl::OkStatus();
}

absl::Status Executor::Launch(int index) {
  const Launchable& launchable = steps_[index];
  for (int wait : launchable.waits) {
    RETURN_IF_ERROR(streams_->Wait(launchable.stream, events_[wait]));
  }
  if (launchable.behind_barrier) RETURN_IF_ERROR(streams_->Barrier(launchable.stream));
  if (launchable.step->launches()) RETURN_IF_ERROR(LaunchInRange(index, launchable.stream));
  if (launchable.is_awaited) {
    ASSIGN_OR_RETURN(events_[index], streams_->Record(launchable.stream));
  }
  return absl::OkStatus();
}

absl::Status Executor::LaunchStep(int index) {
  Launchable& launchable = steps_[index];
  for (const CallersOperand& c : launchable.callers_in) {
    const void* base =
        c.kind == Operand::Kind::kInput ? staging_.input(c.index) : staging_.output(c.index);
    launchable.in[c.operand] = At<const std::byte>(base, c.offset);
  }
  for (const CallersOperand& c : launchable.callers_out) {
    launchable.out[c.operand] = At<std::byte>(staging_.output(c.index), c.offset);
  }
  std::vector<absl::Span<std::byte>> scratch;
  if (poison_) {
    scratch = launchable.scratch;
    for (const auto& [out, bytes] : launchable.callers_scratch) {
      scratch.push_back({static_cast<std::byte*>(launchable.out[out]), static_cast<size_t>(bytes)});
    }
  }
  const LaunchArgs args{.in = launchable.in,
                        .out = launchable.out,
                        .constants = launchable.constants,
                        .workspace = launchable.workspace,
                        .stream = {.index = launchable.stream},
                        .fault = faults_.word(index),
                        .next_uses_pdl = launchable.next_uses_pdl};
  const int stream = launchable.stream;
  const absl::Status launched =
      launchable.on_host ? streams_->LaunchOnHost(stream, *launchable.step, args, scratch)
                         : streams_->Launch(stream, *launchable.step, args, scratch);
  const std::vector<const Node*>& nodes = program_->partitions[index].chosen.nodes;
  if (!absl::IsInternal(launched) || nodes.empty()) return launched;
  return absl::InternalError(absl::StrCat(Where(*nodes[0]), ": ", launched.message()));
}

}  // namespace onnx_cudnn
