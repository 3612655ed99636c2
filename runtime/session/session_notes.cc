#include "runtime/session/session_notes.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostBuilds = 64;  // as SessionStats says

}  // namespace

void SessionNotes::SetDeviceMs(double ms) {
  absl::MutexLock lock(mutex_);
  stats_.device_ms = ms;
}

void SessionNotes::SetLoadMs(double load_ms, double optimize_ms) {
  absl::MutexLock lock(mutex_);
  stats_.load_ms = load_ms;
  stats_.optimize_ms = optimize_ms;
}

void SessionNotes::AddPlanMs(double ms) {
  absl::MutexLock lock(mutex_);
  stats_.plan_ms += ms;
}

void SessionNotes::AddBuild(ProgramBuild build) {
  absl::MutexLock lock(mutex_);
  std::vector<ProgramBuild>& builds = stats_.builds;
  if (builds.size() == kMostBuilds) builds.erase(builds.begin());
  builds.push_back(std::move(build));
}

void SessionNotes::AddCachedSignatures(int64_t count) {
  absl::MutexLock lock(mutex_);
  stats_.cached_signatures += count;
}

void SessionNotes::AddSwap() {
  absl::MutexLock lock(mutex_);
  ++stats_.programs_swapped;
}

void SegmentedRun::Add(const Program& program) {
  ++programs;
  arena_bytes = std::max(arena_bytes, program.memory.arena_bytes + program.host_memory.arena_bytes);
  for (const Partition& partition : program.partitions) {
    const auto count = static_cast<int64_t>(partition.chosen.nodes.size());
    nodes += count;
    if (partition.chosen.engine->name() == "host") host_nodes += count;
  }
}

void SessionNotes::SetServing(const Program& program) {
  SegmentedRun whole;
  whole.Add(program);
  SetRun(whole);
}

void SessionNotes::SetRun(const SegmentedRun& run) {
  absl::MutexLock lock(mutex_);
  stats_.arena_bytes = run.arena_bytes;
  stats_.nodes = run.nodes + run.nodes_between;
  stats_.host_nodes = run.host_nodes + run.nodes_between;
  stats_.segments = run.programs;
  stats_.nodes_between = run.nodes_between;
  stats_.size_reads = run.reads;
  stats_.size_reads_ms = run.reads_ms;
  stats_.between_ms = run.between_ms;
  stats_.segmented_ms = run.all_ms;
}

void SessionNotes::AddTuneNote(std::string note, LogSeverity severity) {
  absl::MutexLock lock(mutex_);
  std::vector<std::string>& notes = stats_.tune_notes;
  if (std::find(notes.begin(), notes.end(), note) != notes.end()) return;
  Log(severity, note);
  notes.push_back(std::move(note));
}

SessionStats SessionNotes::stats() const {
  absl::MutexLock lock(mutex_);
  return stats_;
}

}  // namespace onnx_cudnn
