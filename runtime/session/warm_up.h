#pragma once

#include <vector>

#include "absl/status/status.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/model_replicas.h"

namespace onnx_cudnn {

// Session::WarmUp, of all devices at the same time.
absl::Status WarmUpReplicas(const ModelReplicas& replicas, const std::vector<NamedView>& inputs,
                            int runs_at_once);

}  // namespace onnx_cudnn
