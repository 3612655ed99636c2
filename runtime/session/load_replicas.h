#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/model_replicas.h"
#include "runtime/session/worker_tuning.h"

namespace onnx_cudnn {

// Loads a model for each device that the options select. The first GPU's context is created, and
// the plan cache is read, while the file is read and its graph is optimized.
//   source  a worker program reads it again
//   errors  those of the options, of the file, of the passes and of the devices, in this order
absl::StatusOr<std::shared_ptr<const ModelReplicas>> LoadReplicas(const SessionOptions& options,
                                                                  const ModelSource& source);

}  // namespace onnx_cudnn
