// An instance of a model, which executes the batches that the server gives it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/triton/batch_run.h"
#include "runtime/triton/device_session.h"
#include "runtime/triton/model_version.h"
#include "runtime/triton/served_request.h"
#include "runtime/triton/triton_api.h"

namespace onnx_cudnn::triton {

// One caller at a time.
class Instance {
 public:
  static absl::StatusOr<std::unique_ptr<Instance>> Create(TRITONBACKEND_ModelInstance* instance);

  // Owns the requests: each gets a response. Those of equal shapes are joined in one Run; where it
  // is InvalidArgument (an index out of range), each of them runs alone, so that only the wrong one
  // fails.
  void Execute(absl::Span<TRITONBACKEND_Request* const> requests);
  BatchCopies& copies() { return run_.copies(); }

 private:
  Instance(TRITONBACKEND_ModelInstance* instance, const ModelVersion& model,
           std::shared_ptr<DeviceSession> session)
      : instance_(instance), model_(model), session_(std::move(session)), run_(*session_, model_) {}
  void Run(const std::vector<ServedRequest*>& batch, uint64_t begin);

  TRITONBACKEND_ModelInstance* const instance_;
  const ModelVersion& model_;
  const std::shared_ptr<DeviceSession> session_;
  BatchRun run_;
};

}  // namespace onnx_cudnn::triton
