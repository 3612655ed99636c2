// Options for loading and running a Session.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "onnx_cudnn/export.h"
#include "onnx_cudnn/progress.h"

namespace onnx_cudnn {

enum class DeviceChoice : uint8_t {
  kAuto,  // a GPU if there is one: Session::device_note() tells why there is none
  kCpu,
  kCuda,  // FailedPrecondition if there is none
};

enum class PartitionerChoice : uint8_t {
  kGreedy,  // the largest unit that an engine offers, node by node
  kCost,    // the cheapest partitioning by predicted time
};

enum class PrecisionChoice : uint8_t {
  kAuto,    // kStrict on the CPU device, kTf32 on a GPU: Session::precision() returns which
  kStrict,  // every op in the model's own types
  kTf32,    // f32 products may round their operands to TF32 (10 bits of mantissa) if the target can
  kFp16,    // f32 products and the element-wise ops after them in f16, with f32 sums
  kBf16,    // the same in bf16
};

// When the tuner measures, within the tune budget.
enum class TuneMode : uint8_t {
  kForeground,  // while a Program is built: the first Run for new input shapes waits
  // Concurrently with Runs, which never wait: a Program is built from predictions and the plan
  // cache and is used at once. A thread of the Session has the worker program measure, builds the
  // tuned Program and times both. If the tuned one is at least one percent faster, later Runs use
  // it; their results may differ in the last bits. Requires the worker program: without it, and if
  // the byte limit has no room for both Programs, the first one stays. Measuring shares the device
  // with Runs, slows them and makes its own times noisier. SessionStats::tune_notes has the outcome
  // for each set of input shapes.
  kBackground,
};

// Which Program the first Runs for new input shapes use.
enum class FirstProgram : uint8_t {
  kBest,  // the one that the other options ask for: the first Run waits until it is built
  // On a GPU, so that a new shape costs little: a Program of the engines that compile nothing at
  // run time (cuDNN, which does, runs only what no other engine of the GPU takes) and load nothing
  // (cuBLASLt, which does, runs only what others take much longer for). A thread of the
  // Session builds the best Program beside the Runs and times both; if that one is at least one
  // percent faster, later Runs use it, and their results may differ in the last bits.
  // SessionStats::tune_notes has the outcome for each set of input shapes. As with
  // TuneMode::kBackground a Binding keeps the Program that it started with, and both Programs need
  // memory at once. Has no effect with `pins` or on the CPU device. InvalidArgument with a tune
  // budget, unless it is spent in the background.
  kQuick,
};

// Device memory for the intermediate values of several Sessions. A Session with it in its options
// has no arena of its own; one Run uses the memory at a time and other Runs wait for its end,
// whatever their streams. Allocated when the first of the Sessions is loaded.
class ONNX_CUDNN_API SharedArena {
 public:
  explicit SharedArena(int64_t bytes);
  ~SharedArena();
  int64_t bytes() const;

 private:
  friend class SessionDevice;
  struct ONNX_CUDNN_HIDDEN Impl;
  const std::unique_ptr<Impl> impl_;
};

inline constexpr int kAllDevices = -1;  // of SessionOptions::devices

struct SessionOptions {
  DeviceChoice device = DeviceChoice::kAuto;
  // The GPU to use, among those that CUDA_VISIBLE_DEVICES leaves visible, from 0. If it does not
  // exist, FailedPrecondition states how many there are, with DeviceChoice::kAuto too.
  // Calls leave the calling thread's current GPU as it was, if the process uses that GPU itself.
  int device_ordinal = 0;
  // GPUs that run the model, by ordinals as above; {kAllDevices}: every visible one. Each has
  // weights and Programs of its own, and a limit of max_memory_bytes. A Run goes to the GPU in
  // whose memory its arguments lie, without any to the one with the fewest Runs. After an error
  // that loses a GPU (an illegal address), its Runs fail and later ones go to the others. Empty:
  // device_ordinal. InvalidArgument: an ordinal that repeats; kCpu, a target or an arena with
  // several of them.
  std::vector<int> devices;
  // Of several GPUs: whether Run, with inputs in host memory and outputs in new memory, runs again
  // on another GPU if its own is lost meanwhile.
  bool rerun_if_lost = false;
  // Threads that a Run may use on the host: for every op on the CPU device, for ops that run on the
  // host otherwise. Loading a model uses as many. 0: one per core, which is also the maximum.
  int threads = 0;
  // Rewrites at load. 0: only those that running needs; 1: clean-up; 2: also rewrites that change
  // arithmetic (BatchNorm into Conv …).
  int optimization_level = 2;
  // Precision of f32 arithmetic. Inputs and outputs keep the model's types, and range-sensitive ops
  // (Softmax, reductions, norms, Exp, Log …) always compute in f32.
  PrecisionChoice precision = PrecisionChoice::kAuto;
  // With fp16 or bf16: Nodes whose arithmetic stays f32, by name, of unnamed ones that of an
  // output; names are those after the rewrites (onnx-cudnn-opt --print). onnx-cudnn-run --max-error
  // finds them. InvalidArgument: there is no such Node.
  std::vector<std::string> keep_f32;
  // Whether to use library plans whose results may differ from Run to Run.
  bool allow_nondeterministic = false;
  // Rewrites to leave out, by name (onnx-cudnn-opt --help lists them). InvalidArgument: unknown
  // name.
  std::vector<std::string> disabled_passes;
  // Shared libraries that define ops (onnx_cudnn_op.h), by path. Each is loaded once per process,
  // and its ops are known to every Session from then on. NotFound, InvalidArgument: a file that is
  // missing or no such library, an op that is defined already.
  std::vector<std::string> op_libraries;
  // Empty: the device's own target. Otherwise the GPU for which Programs are partitioned, or "cpu";
  // the CPU device then runs them. InvalidArgument lists the valid names.
  std::string target;
  // 80: our engines treat the GPU (or that of `target`) as one of compute capability 8.0; cuDNN and
  // cuBLASLt still use its real capability. 0: the real one. InvalidArgument: there is no GPU, or
  // its capability is lower.
  int compute_capability = 0;
  // How ops are grouped into partitions.
  PartitionerChoice partitioner = PartitionerChoice::kGreedy;
  // Which ops form one partition, and which engine runs them: the text of a pin file, one rule per
  // line, `pin ENGINE NODE…` or `forbid ENGINE NODE…` (onnx-cudnn-opt --pin). Applies to every
  // Program. InvalidArgument names the line, "pins:3": at load for a line that is not a rule; when
  // a Program is built for an unknown engine or node and for a pin that no engine offers.
  std::string pins;
  // On a GPU: seconds that building Programs may spend on measuring the candidates of the engines;
  // in the worker program with loading, searching and timing whole networks (docs/tuning.md).
  // The fastest plans are then used, and kCost partitions by measured times. 0: predictions only;
  // with TuneMode::kBackground 60.
  double tune_budget_s = 0;
  TuneMode tune = TuneMode::kForeground;
  FirstProgram first_program = FirstProgram::kBest;
  // On a GPU: a file that stores measurements; read at load if it exists, written after measuring.
  // Without a budget its content is used and nothing is measured. Empty: none. InvalidArgument: it
  // is not a plan cache.
  std::string plan_cache;
  // On a GPU: the program that measures, so that a plan that hangs or crashes does not end this
  // process and is avoided from then on. Empty: onnx-cudnn-tune-worker beside the running program.
  // If it is missing, this process measures (in the background nothing is measured) and
  // SessionStats::tune_notes says so.
  std::string tune_worker;
  // Called while measuring, by the thread that builds the Program or, in the background, by the
  // Session's: how many partitions are measured, of those known to be needed.
  std::function<void(int64_t done, int64_t total)> tune_progress;
  // Called while loading and while building Programs (progress.h). May be empty.
  ProgressCallback progress;
  // Checked during Load alone, which then returns Cancelled; must live until it returns. Null:
  // never. RunOptions::cancel is for Runs.
  const std::atomic<bool>* cancel = nullptr;
  // Maps external data instead of reading it: no copy, but nobody may change or truncate those
  // files while the Session lives.
  bool map_external_data = false;
  // The model and its external data may be links that end in the directory of the real model, as in
  // hub caches.
  bool follow_hub_links = false;
  // Streams over which independent Steps are distributed. 0: two on a GPU, one on the CPU device,
  // where more only cost memory.
  int streams = 0;
  // On a GPU: the second Run of an Executor captures its launches in one CUDA graph; later Runs
  // replay it.
  bool cuda_graph = true;
  // Limit for weights and for the Executors of one Program (each an arena and copies of inputs and
  // outputs). Above it fewer streams are used, then fewer Executors; if that is not enough,
  // building the Program is ResourceExhausted. A shared arena is not counted. 0: no limit.
  int64_t max_memory_bytes = 0;
  // Null: each Executor has its own arena. ResourceExhausted if a Program needs more than the arena
  // has.
  std::shared_ptr<SharedArena> arena;
  // Programs (one per set of input shapes) that are kept, ≥ 1. A further one replaces the least
  // recently used.
  int max_programs = 8;
  // Symbols of input dims ("past_sequence_length"), "all" of these, "found" for sizes that a Run
  // finds (of NonZero): a Run pads them to the next bucket (16, 24, 32, 48, 64, 96 …); a Program
  // serves all lengths up to it, with the padding masked. Results have exact shapes and may differ
  // in the last bits from those without padding: sums have more terms, which are zero. A dim of 1
  // stays, and so does what allows no padding (SessionStats::bucket_note says why). Other names are
  // InvalidArgument. Padded inputs and outputs are copied, through host memory. The Programs are
  // kept beside the others, also at most max_programs, those of inputs not tuned. Empty: none.
  std::vector<std::string> shape_buckets;
  // Concurrent Runs of one set of input shapes, ≥ 1; each needs an arena. Further callers wait.
  int max_executors_per_program = 4;
  // Whether each Run ends with InvalidArgument, naming the output, if an element of a float output
  // is NaN or infinite, as where fp16 overflows. Outputs in device memory are copied to the host
  // for it; a Run on a caller's stream is InvalidArgument. Binding::TimeRuns does not check.
  bool check_finite = false;
};

struct RunOptions {
  // A cudaStream_t of the device (the legacy default stream is cudaStreamLegacy) on which the Run
  // is enqueued. If every tensor is in device memory, the call returns without waiting for the Run
  // to end; a later call then reports an index out of range. Null: the Run has ended on return.
  // InvalidArgument on the CPU device, which has no streams.
  void* stream = nullptr;
  // Another thread sets it to end the Run early with Cancelled: checked while a Program is built,
  // while the Run waits for another one, and before each Step that is launched. Work that is
  // already on the device is waited for, and the replay of a CUDA graph is one launch. The outputs
  // are then undefined; the Session and the Binding remain usable. Must live until the call
  // returns. Null: never checked.
  const std::atomic<bool>* cancel = nullptr;
};

}  // namespace onnx_cudnn
