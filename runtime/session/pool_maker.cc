#include "runtime/session/pool_maker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/session/check_border.h"

namespace onnx_cudnn {
namespace {

// Memory of a Program while it is timed: weights, arenas, inputs and outputs.
int64_t TimedBytes(const Program& program) {
  return program.weight_bytes + program.memory.arena_bytes + program.host_memory.arena_bytes +
         StagingBytes(program.graph);
}

}  // namespace

// A Device that accesses callers' memory in place needs no copies of inputs and outputs.
int64_t PoolMaker::ExecutorBytes(const Program& program) const {
  const int64_t staging = device_.device().reads_host_memory() ? 0 : StagingBytes(program.graph);
  const int64_t arena = device_.arena_lock() == nullptr ? program.memory.arena_bytes : 0;
  return arena + program.host_memory.arena_bytes + staging;
}

int64_t PoolMaker::PoolBytes(const Program& program, int executors) const {
  return program.weight_bytes + executors * ExecutorBytes(program);
}

bool PoolMaker::Fits(const Program& program) const {
  return PoolBytes(program, 1) <= device_.target().max_bytes;
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> PoolMaker::Make(
    std::shared_ptr<const Program> program) const {
  return MakeWithin(std::move(program), device_.target().max_bytes);
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> PoolMaker::MakeBeside(
    const ExecutorPool& serving, std::shared_ptr<const Program> program) const {
  const int64_t taken = PoolBytes(serving.program(), serving.max_executors());
  return MakeWithin(std::move(program), device_.target().max_bytes - taken);
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> PoolMaker::MakeWithin(
    std::shared_ptr<const Program> program, int64_t most_bytes) const {
  const int64_t bytes = ExecutorBytes(*program);
  if (program->weight_bytes + bytes > most_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("weights, arena and copies of inputs and outputs take %d bytes, the limit "
                        "is %d",
                        program->weight_bytes + bytes, most_bytes));
  }
  const int64_t fitting = bytes == 0 ? most_bytes : (most_bytes - program->weight_bytes) / bytes;
  for (const GraphOutput& output : program->graph.outputs()) {
    RETURN_IF_ERROR(CheckRunnable("output", output.name, *output.value));
  }
  const auto executors = static_cast<int>(std::min<int64_t>(most_executors_, fitting));
  return std::make_shared<ExecutorPool>(std::move(program), device_.device(), device_.constants(),
                                        executors,
                                        ExecutorOptions{.capture = capture_,
                                                        .arena_lock = device_.arena_lock(),
                                                        .pinned = device_.pinned(),
                                                        .captures = &device_.captures()});
}

absl::Status PoolMaker::CheckFitsBeside(const ExecutorPool& serving, const Program& tuned) const {
  const std::shared_ptr<ArenaLock>& shared = device_.arena_lock();
  if (shared != nullptr && tuned.memory.arena_bytes > shared->bytes) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("the tuned program's arena takes %d bytes, the shared one has %d",
                        tuned.memory.arena_bytes, shared->bytes));
  }
  const Program& first = serving.program();
  const int executors = serving.max_executors();
  const int64_t limit = device_.target().max_bytes;
  const int64_t bytes =
      PoolBytes(first, executors) +
      std::max(PoolBytes(tuned, executors), TimedBytes(first) + TimedBytes(tuned));
  if (bytes <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("the tuned program is not tried: beside the one that serves it takes %d "
                      "bytes in all, the limit is %d",
                      bytes, limit));
}

}  // namespace onnx_cudnn
