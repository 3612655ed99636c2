#include "runtime/session/warm_up.h"

#include <cstddef>
#include <future>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/base/status.h"
#include "runtime/session/arguments.h"
#include "runtime/session/binding_impl.h"
#include "runtime/session/peer_inputs.h"
#include "runtime/session/run_model.h"

namespace onnx_cudnn {
namespace {

// The second one captures, where the device can.
int RunsOf(const LoadedModel& model) { return model.device().ref() == DeviceRef{} ? 1 : 2; }

absl::Status WarmUpPool(const Prepared& prepared, int executors, int runs) {
  RETURN_IF_ERROR(CheckMemory(prepared.inputs, {}));
  ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, AllocateOutputs(prepared.pool->program()));
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const TensorView* input : prepared.inputs) in.push_back(input->data);
  for (const Tensor& output : outputs) out.push_back(output.raw());
  return prepared.pool->ForEach(executors, [&](Executor& executor) {
    executor.SetWaitsToCapture(true);  // whatever other threads build meanwhile
    const absl::Cleanup ends = [&] { executor.SetWaitsToCapture(false); };
    absl::Status status;
    for (int i = 0; i < runs && status.ok() && !executor.is_captured(); ++i) {
      status = executor.Run(in, out);
    }
    return status;
  });
}

absl::Status WarmUpModel(const LoadedModel& model, const std::vector<NamedView>& given,
                         int executors) {
  const CallScope scope(model);
  ASSIGN_OR_RETURN(const PeerInputs here, PeerInputs::Of(model, given, {}));
  const std::vector<NamedView>& inputs = here.views();
  if (model.is_segmented()) {
    RETURN_IF_ERROR(MatchArguments(inputs, model.inputs(), "input", model.device().ref()).status());
  } else {
    ASSIGN_OR_RETURN(const Prepared prepared, PrepareRun(model, inputs, {}));
    if (prepared.pool != nullptr) return WarmUpPool(prepared, executors, RunsOf(model));
  }
  std::vector<NamedValue> values;
  for (const NamedView& input : inputs) values.emplace_back(input.name, Tensor::Borrow(input.view));
  for (int i = 0; i < RunsOf(model); ++i) {
    RETURN_IF_ERROR(RunIntoNew(model, values, {}).status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WarmUpReplicas(const ModelReplicas& replicas, const std::vector<NamedView>& inputs,
                            int runs_at_once) {
  if (runs_at_once < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("WarmUp: expected 1 run at once or more, found ", runs_at_once));
  }
  RETURN_IF_ERROR(replicas.Next({}).status());  // says that all devices are lost
  std::vector<std::shared_ptr<const LoadedModel>> models = replicas.models();
  if (models.size() > 1) {
    std::erase_if(models, [](const auto& model) { return model->device().device().is_lost(); });
  }
  // The least loaded device takes the next Run, so none has more at once than this.
  const auto executors = static_cast<int>(CeilDiv(runs_at_once, std::ssize(models)));
  std::vector<std::future<absl::Status>> others;
  for (size_t i = 1; i < models.size(); ++i) {
    others.push_back(std::async([&, i] { return WarmUpModel(*models[i], inputs, executors); }));
  }
  absl::Status status = WarmUpModel(*models[0], inputs, executors);
  for (std::future<absl::Status>& other : others) status.Update(other.get());
  return status;
}

}  // namespace onnx_cudnn
