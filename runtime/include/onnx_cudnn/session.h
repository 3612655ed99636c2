// The public header: load an ONNX model and run it. Needs the standard library alone.
//
//   onnx_cudnn::Result<onnx_cudnn::Session> session = onnx_cudnn::Session::Load("model.onnx");
//   auto outputs = session.value().Run({onnx_cudnn::View(pixels.data(), {1, 3, 224, 224})});
//   const float* scores = outputs.value()[0].data<float>();
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "onnx_cudnn/dtype.h"

namespace onnx_cudnn {

enum class ErrorCode : uint8_t {
  kInvalidArgument,     // the model, an input or an option is wrong
  kUnimplemented,       // valid ONNX that is not run; the message says what would work
  kNotFound,            // no such file
  kDataLoss,            // a file that cannot be read or is cut short
  kResourceExhausted,   // memory; the message says bytes asked and free
  kFailedPrecondition,  // no such device, no library, wrong order of calls
  kCancelled,           // RunOptions::cancel was set
  kInternal,            // a library call failed or an invariant broke: a bug worth a report
};

struct Error {
  ErrorCode code;
  std::string message;  // where, what, found versus expected; no final stop
};

// A T, or the Error why there is none. value() of an error ends the process with its message.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: reads as `return value;`
  Result(Error error) : state_(std::move(error)) {}  // NOLINT

  bool ok() const { return std::holds_alternative<T>(state_); }
  const Error& error() const { return std::get<Error>(state_); }  // only when !ok()
  T& value() & { return Checked(); }
  T&& value() && { return std::move(Checked()); }

 private:
  T& Checked() {
    if (ok()) return std::get<T>(state_);
    std::cerr << "onnx_cudnn: value() of an error: " << error().message << std::endl;
    std::abort();
  }
  std::variant<T, Error> state_;
};

// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: reads as `return error;`
  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }  // only when !ok()

 private:
  std::optional<Error> error_;
};

enum class DeviceKind : uint8_t { kCpu = 1, kCuda = 2 };  // numbered as DLPack's DLDeviceType

struct DeviceRef {
  DeviceKind kind = DeviceKind::kCpu;
  int ordinal = 0;
  bool operator==(const DeviceRef&) const = default;
};

// A caller's memory, as DLPack describes it. It must outlive the call (a Binding: the Binding) that
// takes it.
struct TensorView {
  void* data = nullptr;  // aligned to an element; may be null when there are no elements. An
                         // input's is only read. Strings are std::string objects
  DType dtype = DType::kUndefined;
  std::vector<int64_t> shape;
  std::vector<int64_t>
      strides;  // in elements; empty: row-major. Other than row-major is InvalidArgument
  DeviceRef device;
};

// A view of row-major host memory; T is float, double, bool, an integer or std::string.
template <typename T>
TensorView View(const T* data, std::vector<int64_t> shape);

// A tensor argument, by name or by its place among the model's inputs or outputs: all of one call
// alike.
struct NamedView {
  NamedView(TensorView view) : view(std::move(view)) {}  // NOLINT: Run({View(…)})
  NamedView(std::string name, TensorView view) : name(std::move(name)), view(std::move(view)) {}
  std::string name;  // empty: by place
  TensorView view;
};

// Owns row-major elements in host memory, 64-byte aligned, or in a Session's device's, 256-byte
// aligned. Copies share the bytes.
class Tensor {
 public:
  Tensor() = default;  // dtype kUndefined, no bytes
  // Uninitialized; strings are empty. InvalidArgument: a negative extent, more bytes than 2^63, no
  // dtype.
  static Result<Tensor> Allocate(DType dtype, std::vector<int64_t> shape);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t elements() const;
  int64_t bytes() const;  // 0 for strings
  const DeviceRef& device() const { return device_; }
  void* raw() const { return data_.get(); }
  template <typename T>
  T* data() const {  // T as in View; 16-bit floats as uint16_t
    return static_cast<T*>(raw());
  }
  TensorView view() const {
    return {.data = raw(), .dtype = dtype_, .shape = shape_, .strides = {}, .device = device_};
  }

 private:
  friend class Session;
  DeviceRef device_;
  DType dtype_ = DType::kUndefined;
  std::vector<int64_t> shape_;
  std::shared_ptr<void> data_;
};

// What the model says of an input or an output.
struct ValueInfo {
  struct Extent {
    int64_t value = -1;  // < 0: not a number
    std::string symbol;  // "N"; empty: unknown
  };
  std::string name;
  DType dtype = DType::kUndefined;
  bool ranked = true;  // false: not even the number of dims is known
  std::vector<Extent> dims;
};
std::string ToString(const ValueInfo& info);  // "x f32[N,3,224,224]"

enum class DeviceChoice : uint8_t {
  kAuto,  // the best there is: Session::device_note() says why when it is not a GPU
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

// Device memory for the intermediate values of Sessions that take turns: each with it in its
// options has no arena of its own, and their Runs wait for each other, whatever stream they are
// given. Allocated when the first of them is loaded.
class SharedArena {
 public:
  explicit SharedArena(int64_t bytes);
  ~SharedArena();
  int64_t bytes() const;

 private:
  friend class LoadedModel;
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

struct SessionOptions {
  DeviceChoice device = DeviceChoice::kAuto;
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
  // How ops are grouped into what engines run.
  PartitionerChoice partitioner = PartitionerChoice::kGreedy;
  // On a GPU: seconds that may go into measuring what engines offer, when Programs are built. The
  // fastest Variants are then taken, and kCost partitions by what was measured. 0: predictions
  // alone; in the background 60.
  double tune_budget_s = 0;
  TuneMode tune = TuneMode::kForeground;
  // On a GPU: a file of what was measured, read at load and written when more was; it may not be
  // there yet. Alone, without a budget, what it holds is used and nothing is measured. Empty: none.
  // InvalidArgument: it is no such file.
  std::string plan_cache;
  // On a GPU: the program in which measuring is done, so that a plan that hangs or crashes is left
  // out from then on and does not take this process down. Empty: onnx-cudnn-tune-worker beside the
  // running program. Where there is none this process measures, in the background nobody does, and
  // SessionStats::tune_notes says so.
  std::string tune_worker;
  // Called while measuring goes on, by the thread that builds the Program, in the background by
  // that one: signatures that were measured, of those that are known to be needed.
  std::function<void(int64_t done, int64_t total)> tune_progress;
  // External data is mapped instead of read: no copy, but the caller promises that nobody changes
  // or shortens those files while the Session lives.
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
  // A cudaStream_t of the device (the legacy default stream is cudaStreamLegacy): the Run takes its
  // turn there. When every tensor is in the device's memory it returns without waiting for its end;
  // an index out of range is then reported by a later call. Null: the Run is done on return. The
  // CPU device has no streams: InvalidArgument.
  void* stream = nullptr;
  const std::atomic<bool>* cancel =
      nullptr;  // looked at between compiling and running; not during a Run
};

// A Session's device, "h200", and what it works with: "580.95", "13.0", "9.19.0"; empty where there
// is none.
struct DeviceFacts {
  std::string product, driver, cuda, cudnn;
};

// What a Session did so far, for reports and tests.
struct SessionStats {
  double device_ms = 0;    // opening the device: on a GPU making its context
  double load_ms = 0;      // reading and importing the file
  double optimize_ms = 0;  // rewrites, once at load
  double plan_ms = 0;      // building Programs, all of them
  // Of it, in the background beside it: measuring; worker programs from start to end.
  double tune_ms = 0;
  int64_t tuned_signatures = 0;   // that were measured
  int64_t cached_signatures = 0;  // that the plan cache knew
  // What measuring found to be wrong, or could not check: engine, node, variant, what differs. Why
  // there was no worker program, what hung or crashed there. What became of each set of input
  // shapes in the background: times of both Programs, or why the first one stays.
  std::vector<std::string> tune_notes;
  int64_t programs_built = 0;
  int64_t programs_held = 0;
  int64_t programs_swapped = 0;  // tuned ones that took the place of others, in the background
  int64_t weight_bytes = 0;      // constants in the forms that Steps want
  int64_t arena_bytes = 0;       // of the Program built or swapped in last, for each Executor
  int64_t nodes = 0;             // of that Program
  int64_t host_nodes = 0;        // of them those that run on the host
};

// Runs one set of input shapes over fixed addresses: nothing is looked up per Run, and nothing
// checked but that strings, and inputs whose values decide shapes, still hold what they held at
// Bind (FailedPrecondition). One caller at a time; any number of Bindings beside each other. Keeps
// its Session's model alive, and the Program that it began with: one that was tuned in the
// background since is taken by the next Bind.
class Binding {
 public:
  Binding(Binding&&) noexcept;
  Binding& operator=(Binding&&) noexcept;
  ~Binding();
  // Reads the bound inputs as they are now, returns when the bound outputs are written. Errors as
  // Session::Run's.
  Result<void> Run(const RunOptions& options = {});
  // Milliseconds of each of `runs` ≥ 0 Runs on the device, after two that are not counted: by its
  // own clock, without copies from and to host memory, where Runs are recorded in a CUDA graph;
  // else by the host's clock.
  Result<std::vector<double>> TimeRuns(int runs);
  // Why Runs are not recorded in a CUDA graph; empty: they are, or there was no second Run yet.
  std::string_view graph_note() const;

 private:
  friend class Session;
  struct Impl;
  explicit Binding(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class LoadedModel;

// A loaded model that runs. A scalar or vector input whose values decide shapes (the shape of a
// Reshape), of at most 4 KiB, is read before the Run: each of its values has a Program of its own.
// So are inputs of one element that decide which branch of an If is taken, and inputs of strings,
// of at most 1 MiB (Unimplemented above).
// Every const member may be called from any number of threads at once. No member throws. After a
// move from it (of a Binding too) all that can fail is FailedPrecondition, all else gives nothing.
//   errors  InvalidArgument: an input is unknown, missing, or of another dtype or shape than the
//   model says (found versus
//           expected); values that an op does not take (an index out of range). ResourceExhausted:
//           memory.
class Session {
 public:
  // NotFound, DataLoss: the file. InvalidArgument: not a valid model. Unimplemented: an op, a type
  // or an opset that is not run; ops are looked at only when a Program is built.
  // FailedPrecondition: no such device.
  static Result<Session> Load(const std::string& path, const SessionOptions& options = {});
  // The same from memory, which may go when the call returns. External data is InvalidArgument:
  // there is no folder.
  static Result<Session> LoadBytes(std::string_view bytes, const SessionOptions& options = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();  // ends tuning in the background, also where Bindings stay

  const std::vector<ValueInfo>& inputs() const;
  const std::vector<ValueInfo>& outputs() const;
  std::string_view device() const;  // "cpu" or "cuda"
  DeviceRef device_ref() const;     // of memory that it reads and writes as it is
  DeviceFacts device_facts() const;
  PrecisionChoice precision() const;  // never kAuto
  std::string_view device_note()
      const;  // why DeviceChoice::kAuto took it; empty when it was asked for
  SessionStats stats() const;

  // Outputs in the model's order, in new memory. The first Run of a set of input shapes compiles a
  // Program for it; others wait only if theirs is the same.
  Result<std::vector<Tensor>> Run(const std::vector<NamedView>& inputs,
                                  const RunOptions& options = {}) const;
  // Into the caller's memory, of the dtypes and shapes that OutputsFor(inputs) says; it may overlap
  // neither inputs nor each other.
  Result<void> Run(const std::vector<NamedView>& inputs, const std::vector<NamedView>& outputs,
                   const RunOptions& options = {}) const;
  // Fixes inputs and outputs, checked as by Run, with an Executor of its own.
  Result<Binding> Bind(const std::vector<NamedView>& inputs,
                       const std::vector<NamedView>& outputs) const;
  // The outputs that inputs of these dtypes and shapes give; their data may be null and is not
  // read, but of strings and of inputs whose values decide shapes. Compiles their Program.
  Result<std::vector<ValueInfo>> OutputsFor(const std::vector<NamedView>& inputs) const;

  // A copy in memory of the device, which keeps it alive; of a tensor of strings InvalidArgument.
  Result<Tensor> ToDevice(const TensorView& host) const;
  Result<Tensor> ToHost(const Tensor& tensor) const;

 private:
  friend struct SessionMaker;  // tests: over devices of their own
  explicit Session(std::shared_ptr<const LoadedModel> model);
  std::shared_ptr<const LoadedModel> model_;
};

namespace session_internal {
template <typename T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kF32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kF64;
  else if constexpr (std::is_same_v<T, std::string>)
    return DType::kString;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "no dtype has this C++ type");
    constexpr DType kSigned[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64};
    constexpr DType kUnsigned[] = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
    constexpr int kLog2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? kSigned[kLog2] : kUnsigned[kLog2];
  }
}
}  // namespace session_internal

template <typename T>
TensorView View(const T* data, std::vector<int64_t> shape) {
  return {.data = const_cast<T*>(data),
          .dtype = session_internal::DTypeOf<T>(),
          .shape = std::move(shape)};
}

}  // namespace onnx_cudnn
