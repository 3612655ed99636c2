#include "runtime/session/run_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/run_times.h"
#include "runtime/base/status.h"
#include "runtime/session/arguments.h"
#include "runtime/session/binding_impl.h"

namespace onnx_cudnn {
namespace {

absl::StatusOr<std::vector<Tensor>> RunWhole(const Prepared& prepared, const RunOptions& options) {
  ASSIGN_OR_RETURN(std::vector<Tensor> tensors, AllocateOutputs(prepared.pool->program()));
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const TensorView* input : prepared.inputs) in.push_back(input->data);
  for (const Tensor& tensor : tensors) out.push_back(tensor.raw());
  ASSIGN_OR_RETURN(ExecutorPool::Lease executor, prepared.pool->Acquire());
  RETURN_IF_ERROR((*executor).Run(in, out, options.stream, options.cancel));
  return tensors;
}

// The results, in memory of their own.
absl::StatusOr<std::vector<ModelValue>> RunSegments(const LoadedModel& model,
                                                    std::vector<ModelValue> inputs,
                                                    const RunOptions& options) {
  ASSIGN_OR_RETURN(std::vector<ModelValue> outputs, model.RunSegments(std::move(inputs), options));
  for (ModelValue& output : outputs) {
    ASSIGN_OR_RETURN(output, model.memory().Copy(output));
  }
  return outputs;
}

std::vector<ModelValue> ValuesOf(const std::vector<const TensorView*>& views) {
  std::vector<ModelValue> values;
  for (const TensorView* view : views) values.emplace_back(Tensor::Borrow(*view));
  return values;
}

std::vector<ValueInfo> OutputsOf(const BucketedRun& run) {
  std::vector<ValueInfo> infos = OutputsOf(run.pool->program());
  for (size_t i = 0; i < infos.size(); ++i) {
    infos[i].dims.clear();
    for (const int64_t dim : run.OutputDims(static_cast<int>(i))) {
      infos[i].dims.push_back({.value = dim});
    }
  }
  return infos;
}

std::vector<Space> SpacesOf(const std::vector<TensorView>& views) {
  std::vector<Space> spaces;
  for (const TensorView& view : views) {
    spaces.push_back(view.device == DeviceRef{} ? Space::kHost : Space::kDevice);
  }
  return spaces;
}

absl::Status CheckTensors(const std::vector<ValueInfo>& infos, std::string_view what) {
  for (const ValueInfo& info : infos) {
    if (info.kind == ValueKind::kTensor) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s \"%s\" is no tensor: run the model with values of any kind (Session::RunValues)", what,
        info.name));
  }
  return absl::OkStatus();
}

absl::Status CopyInto(const LoadedModel& model, const ModelValue& value, const TensorView& to,
                      std::string_view name) {
  const Tensor& from = value.tensor();
  if (from.dtype() != to.dtype || from.shape() != to.shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("output \"", name, "\" is ", NameOf(from.dtype()),
                     ToString(absl::MakeConstSpan(from.shape())), " in this run, expected ",
                     NameOf(to.dtype), ToString(absl::MakeConstSpan(to.shape))));
  }
  if (from.dtype() == DType::kString) {
    const auto* strings = from.data<std::string>();
    std::copy(strings, strings + from.elements(), static_cast<std::string*>(to.data));
    return absl::OkStatus();
  }
  return model.memory().CopyTo(from, to);
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> AllocateOutputs(const Program& program) {
  const PhaseTimer timer(RunPhase::kAllocate);
  std::vector<Tensor> tensors;
  for (const GraphOutput& output : program.graph.outputs()) {
    Result<Tensor> tensor = Tensor::Allocate(output.value->dtype(), output.value->dims());
    if (!tensor.ok()) return absl::ResourceExhaustedError(tensor.error().message);
    tensors.push_back(std::move(tensor).value());
  }
  return tensors;
}

absl::StatusOr<Prepared> PrepareRun(const LoadedModel& model, const std::vector<NamedView>& inputs,
                                    const RunOptions& options) {
  RETURN_IF_ERROR(CheckRunOptions(model, options));
  RETURN_IF_ERROR(CheckTensors(model.inputs(), "input"));
  RETURN_IF_ERROR(CheckTensors(model.outputs(), "output"));
  Prepared prepared;
  ASSIGN_OR_RETURN(prepared.inputs,
                   MatchArguments(inputs, model.inputs(), "input", model.device().ref()));
  if (model.is_segmented()) return prepared;
  RETURN_IF_ERROR(model.device().device().MakeCurrent());
  ASSIGN_OR_RETURN(prepared.bucketed, model.buckets().Prepare(prepared.inputs, options.stream));
  if (prepared.bucketed != nullptr) return prepared;
  absl::StatusOr<std::shared_ptr<ExecutorPool>> pool =
      model.Prepare(prepared.inputs, options.stream);
  if (absl::IsUnimplemented(pool.status())) return prepared;
  RETURN_IF_ERROR(pool.status());
  prepared.pool = *std::move(pool);
  RETURN_IF_ERROR(CheckRunOptions(model, options));
  return prepared;
}

std::vector<ValueInfo> OutputsOf(const LoadedModel& model, const Prepared& prepared) {
  if (prepared.bucketed != nullptr) return OutputsOf(*prepared.bucketed);
  return prepared.pool == nullptr ? model.outputs() : OutputsOf(prepared.pool->program());
}

absl::StatusOr<std::vector<Tensor>> RunIntoNew(const LoadedModel& model, const Prepared& prepared,
                                               const RunOptions& options) {
  RETURN_IF_ERROR(CheckMemory(prepared.inputs, {}));
  if (prepared.pool != nullptr) return RunWhole(prepared, options);
  if (prepared.bucketed != nullptr) {
    const std::vector<Space> spaces(model.outputs().size(), Space::kHost);
    return model.buckets().Run(*prepared.bucketed, prepared.inputs, spaces, options);
  }
  ASSIGN_OR_RETURN(const std::vector<ModelValue> values,
                   RunSegments(model, ValuesOf(prepared.inputs), options));
  std::vector<Tensor> tensors;
  for (const ModelValue& value : values) tensors.push_back(value.tensor());
  return tensors;
}

absl::StatusOr<std::vector<ModelValue>> RunIntoNew(const LoadedModel& model,
                                                   const std::vector<NamedValue>& inputs,
                                                   const RunOptions& options) {
  RETURN_IF_ERROR(CheckRunOptions(model, options));
  ASSIGN_OR_RETURN(std::vector<ModelValue> values,
                   MatchValues(inputs, model.inputs(), "input", model.device().ref()));
  if (model.is_segmented()) return RunSegments(model, std::move(values), options);
  std::vector<NamedView> views;
  for (const ModelValue& value : values) views.emplace_back(value.tensor().view());
  ASSIGN_OR_RETURN(const Prepared prepared, PrepareRun(model, views, options));
  ASSIGN_OR_RETURN(std::vector<Tensor> outputs, RunIntoNew(model, prepared, options));
  return std::vector<ModelValue>(outputs.begin(), outputs.end());
}

absl::Status RunPartsInto(const LoadedModel& model, const std::vector<TensorView>& inputs,
                          const std::vector<TensorView>& outputs, const RunOptions& options) {
  const std::vector<NamedView> by_place(inputs.begin(), inputs.end());
  ASSIGN_OR_RETURN(const Prepared prepared, PrepareRun(model, by_place, options));
  std::vector<ModelValue> results;
  if (prepared.bucketed != nullptr) {
    RETURN_IF_ERROR(CheckMemory(prepared.inputs, {}));
    ASSIGN_OR_RETURN(
        const std::vector<Tensor> tensors,
        model.buckets().Run(*prepared.bucketed, prepared.inputs, SpacesOf(outputs), options));
    results.assign(tensors.begin(), tensors.end());
  } else if (prepared.pool == nullptr) {
    ASSIGN_OR_RETURN(results, model.RunSegments(ValuesOf(prepared.inputs), options));
  } else {
    ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, RunIntoNew(model, prepared, options));
    results.assign(tensors.begin(), tensors.end());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    RETURN_IF_ERROR(CopyInto(model, results[i], outputs[i], model.outputs()[i].name));
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
