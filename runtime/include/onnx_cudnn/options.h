// How a Session is loaded and run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace onnx_cudnn {

enum class DeviceChoice : uint8_t {
  kAuto,  // a GPU where there is one: Session::device_note() says why there is none
  kCpu,
  kCuda,  // FailedPrecondition when there is none
};

enum class PartitionerChoice : uint8_t {
  kGreedy,  // the largest unit that each engine offers, in order
  kCost,    // the cheapest cover by predicted time
};

enum class PrecisionChoice : uint8_t {
  kAuto,    // kStrict on the CPU device, kTf32 on a GPU: Session::precision() says which
  kStrict,  // every op in the model's own types
  kTf32,    // f32 products may round their operands to 10 bits of mantissa where the target can
  kFp16,    // f32 products, and the element-wise ops after them, in f16 with f32 sums
  kBf16,    // the same in bf16
};

// When what a tune budget allows is measured.
enum class TuneMode : uint8_t {
  kForeground,  // while a Program is built: the first Run of its input shapes waits
  // Beside Runs, which never wait: a Program is built by predictions, and by what the plan cache
  // knows, and serves at once. A thread of the Session has the worker program measure, builds the
  // tuned Program and times both; where it is faster by one percent or more, Runs that begin later
  // take it: their results may differ in the last bits. Needs the worker program: without it, and
  // where the byte limit does not hold both Programs, the first one stays. Measuring shares the
  // device with Runs: it slows them, and they blur it. SessionStats::tune_notes says what became of
  // each set of input shapes.
  kBackground,
};

// Device memory for the intermediate values of several Sessions. A Session with it in its options
// has no arena of its own; only one Run uses the memory at a time and the others wait for its end,
// whatever stream they are given. Allocated when the first of the Sessions is loaded.
class SharedArena {
 public:
  explicit SharedArena(int64_t bytes);
  ~SharedArena();
  int64_t bytes() const;

 private:
  friend class SessionDevice;
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

struct SessionOptions {
  DeviceChoice device = DeviceChoice::kAuto;
  // Which GPU, of those that CUDA_VISIBLE_DEVICES leaves visible, from 0. FailedPrecondition says
  // how many there are when there is no such one, with DeviceChoice::kAuto too.
  int device_ordinal = 0;
  // Threads that a Run may use on the host: on the CPU device for every op, on a GPU for those that
  // run on the host; loading a model uses as many. 0: one a core, which is also the most.
  int threads = 0;
  // Rewrites at load: 0 only what running needs, 1 clean-up, 2 what moves arithmetic (BatchNorm
  // into Conv …).
  int optimization_level = 2;
  // How exact f32 arithmetic is. Inputs and outputs keep the model's types, and range-sensitive ops
  // (Softmax, reductions, norms, Exp, Log …) stay in f32 always.
  PrecisionChoice precision = PrecisionChoice::kAuto;
  // Whether plans of libraries that may give other bits in every Run are taken.
  bool allow_nondeterministic = false;
  // Rewrites to leave out, by name (onnx-cudnn-opt --help lists them). InvalidArgument for an
  // unknown one.
  std::vector<std::string> disabled_passes;
  // Empty: the device's own. Else the GPU for which Programs are partitioned, or "cpu": the CPU
  // device then runs them, whatever it is.
  // InvalidArgument lists the names there are.
  std::string target;
  // 80: our engines take the GPU, or that of `target`, for one of compute capability 8.0, which it
  // must exceed; cuDNN and cuBLASLt still see what it is. 0: for what it is. InvalidArgument: it is
  // no GPU, or has less.
  int compute_capability = 0;
  // How ops are grouped into what engines run.
  PartitionerChoice partitioner = PartitionerChoice::kGreedy;
  // Which ops form one partition, and which engine runs them: the text of a pin file, one rule a
  // line, `pin ENGINE NODE…` or `forbid ENGINE NODE…` (onnx-cudnn-opt --pin). Every Program keeps
  // to it. InvalidArgument names the line, "pins:3": at load for a line that is no rule, when a
  // Program is built for an engine or node that does not exist and for a pin that no engine offers.
  std::string pins;
  // On a GPU: seconds that building Programs may spend on measuring what engines offer. The fastest
  // plans are then taken, and kCost partitions by what was measured. 0: predictions alone; with
  // TuneMode::kBackground 60.
  double tune_budget_s = 0;
  TuneMode tune = TuneMode::kForeground;
  // On a GPU: a file that keeps what was measured, read at load and written after measuring; it
  // need not exist. Without a budget what it holds is used and nothing is measured. Empty: none.
  // InvalidArgument: it is not a plan cache.
  std::string plan_cache;
  // On a GPU: the program that measures, so that a plan that hangs or crashes does not take this
  // process down and is left out from then on. Empty: onnx-cudnn-tune-worker beside the running
  // program. Without such a program this process measures, in the background nothing is measured,
  // and SessionStats::tune_notes says so.
  std::string tune_worker;
  // Called while measuring goes on, by the thread that builds the Program or, in the background, by
  // that of the Session: how many partitions were measured, of those that are known to be needed.
  std::function<void(int64_t done, int64_t total)> tune_progress;
  // Maps external data instead of reading it: no copy, but nobody may change or shorten those files
  // while the Session lives.
  bool map_external_data = false;
  // The model and its external data may be links that end in the real model's folder, as in hub
  // caches.
  bool follow_hub_links = false;
  // Streams over which independent Steps are spread. 0: two on a GPU, one on the CPU device, where
  // more only cost memory.
  int streams = 0;
  // On a GPU: the second Run of an Executor records its launches in one CUDA graph, later ones
  // replay that.
  bool cuda_graph = true;
  // What weights and the Executors of one Program may take, each an arena and copies of inputs and
  // outputs; above it fewer streams are used, then fewer Executors, then building it is
  // ResourceExhausted. A shared arena is not counted. 0: no limit.
  int64_t max_memory_bytes = 0;
  // Null: an arena for each Executor. ResourceExhausted where a Program needs more than it has.
  std::shared_ptr<SharedArena> arena;
  // Programs (one per set of input shapes) kept ready, ≥ 1. One more drops the least recently used.
  int max_programs = 8;
  // Runs of one set of input shapes that go on at once, ≥ 1; each holds an arena. Further callers
  // wait.
  int max_executors_per_program = 4;
};

struct RunOptions {
  // A cudaStream_t of the device (the legacy default stream is cudaStreamLegacy), on which the Run
  // is enqueued. With every tensor in the device's memory the call returns without waiting for the
  // Run's end; an index out of range is then reported by a later call. Null: the Run is done on
  // return. The CPU device has no streams: InvalidArgument.
  void* stream = nullptr;
  // Looked at before and after a Program is compiled, not during a Run. May be null.
  const std::atomic<bool>* cancel = nullptr;
};

}  // namespace onnx_cudnn
