// Loads an ONNX model and runs it. Includes all public headers, which need C++17 and the standard
// library alone.
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
#include "onnx_cudnn/log.h"
#include "onnx_cudnn/model_value.h"
#include "onnx_cudnn/options.h"
#include "onnx_cudnn/result.h"
#include "onnx_cudnn/tensor.h"

namespace onnx_cudnn {

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
  // Measuring, worker programs from start to end: a part of plan_ms, in the background beside it.
  double tune_ms = 0;
  int64_t tuned_signatures = 0;   // that were measured
  int64_t cached_signatures = 0;  // that the plan cache knew
  // Plans that measuring found to be wrong or could not check: engine, node, variant, what differs.
  // Why there was no worker program, and what hung or crashed in it. For each set of input shapes
  // that was tuned in the background: the times of both Programs, or why the first one stays.
  std::vector<std::string> tune_notes;
  int64_t programs_built = 0;
  int64_t programs_held = 0;
  int64_t programs_swapped = 0;  // tuned in the background, they replaced others
  int64_t weight_bytes = 0;      // constants in the forms that Steps want
  int64_t arena_bytes = 0;       // of the Program built or swapped in last, for each Executor
  int64_t nodes = 0;             // of that Program
  int64_t host_nodes = 0;        // of them those that run on the host
};

// Runs one set of input shapes over fixed addresses, without looking anything up. Strings, and
// inputs whose values decide shapes, must hold what they held at Bind: FailedPrecondition. One
// caller at a time; any number of Bindings beside each other. Keeps its Session's model alive, and
// the Program that it began with: a Program that was tuned in the background later is taken by the
// next Bind.
class Binding {
 public:
  Binding(Binding&&) noexcept;
  Binding& operator=(Binding&&) noexcept;
  ~Binding();
  // Reads the bound inputs as they are now, returns when the bound outputs are written. Errors as
  // Session::Run's.
  Result<void> Run(const RunOptions& options = {});
  // Milliseconds that each of `runs` ≥ 0 Runs takes, after two that are not counted. Where Runs are
  // recorded in a CUDA graph the device's clock times them, without copies from and to host memory;
  // elsewhere the host's clock does.
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

// A loaded model that runs. A scalar or vector input of at most 4 KiB whose values decide shapes
// (the shape of a Reshape) is read before the Run, and each of its values has a Program of its own.
// The same holds of an input of one element that decides which branch of an If runs, and of inputs
// of strings, of at most 1 MiB (Unimplemented above).
// Every const member may be called from any number of threads at once. No member throws. After a
// move from a Session or Binding its calls return FailedPrecondition or nothing.
//   errors  InvalidArgument: an input is unknown, missing, or of another dtype or shape than the
//           model says; values that an op does not take (an index out of range).
//           ResourceExhausted: memory
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
  // Why DeviceChoice::kAuto took the device; empty when it was asked for.
  std::string_view device_note() const;
  SessionStats stats() const;

  // Outputs in the model's order, in new memory. The first Run of a set of input shapes compiles a
  // Program for it; others wait only if theirs is the same.
  Result<std::vector<Tensor>> Run(const std::vector<NamedView>& inputs,
                                  const RunOptions& options = {}) const;
  // Runs a model whose inputs and outputs are of any kind. Unimplemented where one is no tensor
  // (today Load refuses such a model). Tensors of the inputs may lie in the device's memory.
  Result<std::vector<ModelValue>> RunValues(const std::vector<NamedValue>& inputs,
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

  // Which partition of the Program for these inputs computes something else than its ops: each runs
  // alone, fused and compiled as in a Run, against the references of its ops on the host. Those
  // that differ stand first, then by share_of_tolerance. Inputs in the host's memory alone. Takes
  // the time and the memory of a run of the references.
  Result<std::vector<CheckedPartition>> CheckPartitions(const std::vector<NamedView>& inputs) const;

  // A copy in memory of the device, which keeps it alive; of a tensor of strings InvalidArgument.
  Result<Tensor> ToDevice(const TensorView& host) const;
  Result<Tensor> ToHost(const Tensor& tensor) const;

 private:
  friend struct SessionMaker;  // tests: over devices of their own
  explicit Session(std::shared_ptr<const LoadedModel> model);
  std::shared_ptr<const LoadedModel> model_;
};

}  // namespace onnx_cudnn
