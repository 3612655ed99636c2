// Loads an ONNX model and runs it. Includes all public headers, which need only C++17 and the
// standard library, but those that run nothing: check_model.h, doctor.h and version.h.
//
//   onnx_cudnn::Result<onnx_cudnn::Session> session = onnx_cudnn::Session::Load("model.onnx");
//   auto outputs = session.value().Run({onnx_cudnn::View(pixels.data(), {1, 3, 224, 224})});
//   const float* scores = outputs.value()[0].data<float>();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_cudnn/checked_partition.h"
#include "onnx_cudnn/dtype.h"
#include "onnx_cudnn/export.h"
#include "onnx_cudnn/log.h"
#include "onnx_cudnn/model_value.h"
#include "onnx_cudnn/options.h"
#include "onnx_cudnn/profile.h"
#include "onnx_cudnn/progress.h"
#include "onnx_cudnn/result.h"
#include "onnx_cudnn/tensor.h"

namespace onnx_cudnn {

// The device of a Session, "h200", and the versions of its software: "580.95", "13.0", "9.19.0";
// empty if there is none.
struct DeviceFacts {
  std::string product, driver, cuda, cudnn, cublaslt;
};

// How long it took to build one Program, in milliseconds.
struct ProgramBuild {
  std::string inputs;       // "x[1,3,640,640]"; of a segment those of its part of the model
  bool is_quick = false;    // FirstProgram::kQuick
  double bind_ms = 0;       // binding shapes: inference, clean-up; of a segment with the cut
  double fold_ms = 0;       // folding constants
  double partition_ms = 0;  // the search for partitions
  double compile_ms = 0;    // compiling Steps by their engines, with measuring if it is tuned
  double plan_ms = 0;       // layouts, schedule and memory
  double total_ms = 0;      // at least the sum
};

// One of the devices of a Session.
struct DeviceStats {
  DeviceRef device;
  int64_t runs = 0;     // begun so far
  int64_t running = 0;  // now
  bool is_lost = false;
};

// Statistics of a Session, for reports and tests. Of several devices they are sums, but the times
// of loading, the sizes of the Program built last and what is said of the last Run: these are the
// first one's.
struct SessionStats {
  std::vector<DeviceStats> devices;
  // Waiting for the device, which is opened (on a GPU: its context is created) while the model is
  // loaded.
  double device_ms = 0;
  double load_ms = 0;      // reading and importing the file
  double optimize_ms = 0;  // rewrites, once at load
  double plan_ms = 0;      // building Programs, in total; Runs wait for it
  // Measuring, including worker programs from start to end: a part of plan_ms; not part of it in
  // the background.
  double tune_ms = 0;
  int64_t tuned_signatures = 0;   // measured signatures
  int64_t cached_signatures = 0;  // signatures found in the plan cache
  // Plans that were wrong or could not be checked: engine, node, variant, what differs. Why there
  // was no worker program, and what hung or crashed in it. For each set of input shapes tuned in
  // the background: the times of both Programs, or why the first one stays.
  std::vector<std::string> tune_notes;
  // The last 64 Programs that were built, also those built beside Runs, in this order.
  std::vector<ProgramBuild> builds;
  int64_t programs_built = 0;
  int64_t programs_held = 0;
  int64_t programs_swapped = 0;  // Programs tuned in the background that replaced others
  int64_t weight_bytes = 0;      // constants in the forms that Steps use
  int64_t arena_bytes = 0;       // of the Program built or swapped in last, per Executor
  int64_t nodes = 0;             // of that Program
  int64_t host_nodes = 0;        // its nodes that run on the host
  // Of the last Run of a model whose shapes depend on data: the Programs that it ran, one after the
  // other, and what happened between them. `nodes` and `host_nodes` then count all of it.
  int64_t segments = 0;       // Runs of Programs; 1: the whole model is one Program
  int64_t nodes_between = 0;  // control flow, sequences, strings
  int64_t size_reads = 0;     // tensors read because their elements decide shapes
  double size_reads_ms = 0;
  double between_ms = 0;    // of nodes_between, without the bodies of control flow
  double segmented_ms = 0;  // of the whole Run, which includes the Programs that it built
  int64_t padded_runs = 0;  // Runs of Programs of SessionOptions::shape_buckets
  // Why one was not padded, the last time that this happened: the op that cannot be, sizes that
  // contradict each other.
  std::string bucket_note;
  int64_t graph_captures = 0;  // CUDA graphs captured for Runs so far, one for each Executor
};

// Runs one set of input shapes over fixed addresses, without any look-up. Strings, and inputs whose
// values decide shapes, must hold the same values as at Bind: otherwise FailedPrecondition. One
// caller at a time per Binding; Bindings may be used concurrently. Keeps the model of its Session
// alive, and its Program: a Program that is tuned in the background later is used only by a new
// Bind.
class ONNX_CUDNN_API Binding {
 public:
  Binding(Binding&&) noexcept;
  Binding& operator=(Binding&&) noexcept;
  ~Binding();
  // Reads the current content of the bound inputs and returns when the bound outputs are written.
  // Errors as for Session::Run.
  Result<void> Run(const RunOptions& options = {});
  // Milliseconds of each of `runs` ≥ 0 Runs, after two warm-up Runs. If Runs are captured in a CUDA
  // graph, the device's clock times them, without copies from and to host memory; otherwise the
  // host's clock does.
  Result<std::vector<double>> TimeRuns(int runs);
  // Why Runs are not captured in a CUDA graph; empty: they are, or there was no second Run yet.
  std::string_view graph_note() const;

 private:
  friend class Session;
  struct ONNX_CUDNN_HIDDEN Impl;
  explicit Binding(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class LoadedModel;
class ModelReplicas;

// A loaded model that can run. Where shapes depend on data, on the branch that an If takes or on
// the iterations of a Loop, the model runs as several Programs, one after the other: such a Run
// returns when it has ended, whatever the stream.
//  A scalar or vector input of at most 4 KiB whose values decide shapes
// (the shape of a Reshape) is read before the Run, and each of its values has its own Program. The
// same applies to an input of one element that decides which branch of an If runs, and to string
// inputs of at most 1 MiB (Unimplemented above).
// Any number of threads may call const members concurrently. No member throws. Calls on a
// moved-from Session or Binding return FailedPrecondition or nothing.
//   errors  InvalidArgument: an input is unknown, missing, or its dtype or shape does not match the
//           model; values that an op does not accept (an index out of range). ResourceExhausted:
//           memory
class ONNX_CUDNN_API Session {
 public:
  // NotFound, DataLoss: the file. InvalidArgument: not a valid model. Unimplemented: an op, a type
  // or an opset that is not supported; ops are checked only when a Program is built.
  // FailedPrecondition: no such device.
  static Result<Session> Load(const std::string& path, const SessionOptions& options = {});
  // The same from memory, which is not used after the call returns. External data is
  // InvalidArgument: there is no directory.
  static Result<Session> LoadBytes(std::string_view bytes, const SessionOptions& options = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();  // ends background tuning, even if Bindings remain

  const std::vector<ValueInfo>& inputs() const;
  const std::vector<ValueInfo>& outputs() const;
  std::string_view device() const;  // "cpu" or "cuda"
  DeviceRef device_ref() const;     // the device whose memory it accesses in place; the first one
  DeviceFacts device_facts() const;
  PrecisionChoice precision() const;  // never kAuto
  // Why DeviceChoice::kAuto selected the device; empty if the options name it.
  std::string_view device_note() const;
  SessionStats stats() const;

  // Inputs in the memory of another GPU than that of the Run are copied to it first, from GPU to
  // GPU where the host's links allow it; then RunOptions::stream must be null.
  // Returns the outputs in the model's order, in new memory. The first Run for new input shapes
  // compiles a Program; concurrent callers wait only if they need the same one.
  Result<std::vector<Tensor>> Run(const std::vector<NamedView>& inputs,
                                  const RunOptions& options = {}) const;
  // Runs a model with inputs and outputs of any kind. Input tensors may be in device memory, also
  // those in sequences; what another GPU has is copied, as by Run. A tensor is taken for an
  // optional that holds it.
  Result<std::vector<ModelValue>> RunValues(const std::vector<NamedValue>& inputs,
                                            const RunOptions& options = {}) const;
  // Writes to the caller's memory, with the dtypes and shapes that OutputsFor(inputs) returns; it
  // must not overlap the inputs or itself, but an output of TensorScatter, ScatterElements or
  // ScatterND may be in the memory of the input that it updates, if nothing else reads that input:
  // a key/value cache is updated in place (by a copy where the model runs as several Programs).
  // InvalidArgument: a shape that depends on data is another.
  Result<void> Run(const std::vector<NamedView>& inputs, const std::vector<NamedView>& outputs,
                   const RunOptions& options = {}) const;
  // Does what the first Runs of inputs of these shapes would wait for, on every device that is not
  // lost, on all at the same time: builds the Program, makes the arenas of as many Runs at once as
  // a device may then have, and captures their CUDA graphs, for which it waits until other threads
  // have compiled. Of a model that runs in segments, or padded, one Run at a time
  // is prepared. It runs the model: elements must be valid for it (an index within its range).
  //   inputs        tensors
  //   runs_at_once  ≥ 1, of the Session: on two devices each has half of them
  Result<void> WarmUp(const std::vector<NamedView>& inputs, int runs_at_once = 1) const;
  // Fixes inputs and outputs, checked as in Run, and gives them their own Executor.
  Result<Binding> Bind(const std::vector<NamedView>& inputs,
                       const std::vector<NamedView>& outputs) const;
  // The outputs for inputs of these dtypes and shapes. Data may be null and is not read, except
  // that of strings and of inputs whose values decide shapes. Compiles the Program, if
  // one runs the model. A shape that depends on data has the dims that the model declares.
  Result<std::vector<ValueInfo>> OutputsFor(const std::vector<NamedView>& inputs) const;

  // Finds partitions whose results differ from those of their ops: each partition of the Program
  // for these inputs runs alone, fused and compiled as in a Run, and is compared with the
  // references of its ops on the host. Wrong ones come first, then by share_of_tolerance. Inputs
  // must be in host memory. Needs the time and memory of running the references.
  Result<std::vector<CheckedPartition>> CheckPartitions(const std::vector<NamedView>& inputs) const;

  // Times each step of the Program for these inputs in Runs of an Executor of its own, compiled and
  // scheduled as in a Run: by events of the device, within the CUDA graph where Runs are captured,
  // and by the host's clock on the CPU device. Of a model that runs in segments the steps of all
  // its Programs, and what runs between them. Unimplemented: the model runs padded.
  Result<RunProfile> Profile(const std::vector<NamedView>& inputs,
                             const ProfileOptions& options = {}) const;

  // Copies a tensor to device memory; the copy keeps the device alive. InvalidArgument for strings.
  Result<Tensor> ToDevice(const TensorView& host) const;  // of device_ref()
  // InvalidArgument: a device that the Session does not use.
  Result<Tensor> ToDevice(const TensorView& host, const DeviceRef& device) const;
  Result<Tensor> ToHost(const Tensor& tensor) const;

 private:
  friend struct SessionMaker;      // tests: over devices of their own
  friend struct SessionExplainer;  // the programs: --report
  explicit Session(std::shared_ptr<const LoadedModel> model);
  explicit Session(std::shared_ptr<const ModelReplicas> replicas);
  std::shared_ptr<const ModelReplicas> replicas_;
};

}  // namespace onnx_cudnn
