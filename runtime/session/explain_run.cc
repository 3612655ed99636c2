#include "runtime/session/explain_run.h"

#include "runtime/base/status.h"
#include "runtime/session/binding_impl.h"
#include "runtime/session/model_replicas.h"
#include "runtime/session/run_model.h"

namespace onnx_cudnn {

absl::StatusOr<Explanation> SessionExplainer::Explain(const Session& session,
                                                      const std::vector<NamedView>& inputs) {
  const LoadedModel& model = *session.replicas_->first();
  const CallScope scope(model);
  ASSIGN_OR_RETURN(const Prepared prepared, PrepareRun(model, inputs, {}));
  if (prepared.pool == nullptr) {
    return absl::UnimplementedError("the model runs in segments or padded, which Explain does not");
  }
  return model.Explain(prepared.inputs, prepared.pool->program());
}

}  // namespace onnx_cudnn
