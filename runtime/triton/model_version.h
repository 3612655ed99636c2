// One version of a model, as the server loads it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "nlohmann/json.hpp"
#include "runtime/triton/device_session.h"
#include "runtime/triton/metrics.h"
#include "runtime/triton/model_config.h"
#include "runtime/triton/settings.h"
#include "runtime/triton/triton_api.h"

namespace onnx_cudnn::triton {

// What --backend-config says to all models, and what they share.
struct BackendState {
  Parameters defaults;
  int64_t default_max_batch = 4;
  MetricFamilies metrics;
};

// Where an instance runs: "cpu", "cuda:0" or "model", which uses the devices of the parameters.
struct Placement {
  std::string kind;  // "KIND_CPU", "KIND_GPU", "KIND_MODEL"
  int gpu = 0;       // of KIND_GPU
  std::string name() const;
};

// An output as a response has it.
struct OutputType {
  std::string name;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
};

// Thread-safe.
class ModelVersion {
 public:
  // Reads the configuration, loads the model on the device of its first instance, completes the
  // configuration from it if the server does, and checks both.
  static absl::StatusOr<std::unique_ptr<ModelVersion>> Create(TRITONBACKEND_Model* model);

  // The Session of a placement, which the first caller loads and warms up; it lives as long as one
  // of the callers keeps it.
  absl::StatusOr<std::shared_ptr<DeviceSession>> SessionOn(const Placement& placement);

  int64_t max_batch() const { return config_.max_batch; }
  // Rows that Runs have, ascending; empty: any number.
  const std::vector<int64_t>& batch_sizes() const { return batch_sizes_; }
  const std::vector<OutputType>& outputs() const { return outputs_; }

 private:
  ModelVersion() = default;
  absl::Status ReadIdentity(TRITONBACKEND_Model* model);
  absl::Status Complete(TRITONBACKEND_Model* model, const Session& session);
  absl::StatusOr<std::shared_ptr<DeviceSession>> Load(const Placement& placement) const;
  // "warm at batches 1, 2, 4", or why it is not.
  absl::StatusOr<std::string> WarmUp(const DeviceSession& session,
                                     const Placement& placement) const;
  absl::Status WarmUpSizes(const DeviceSession& session, const std::vector<int64_t>& sizes,
                           int runs) const;

  const BackendState* backend_ = nullptr;
  std::string name_, version_, folder_;
  Json json_;
  ModelConfig config_;
  ModelSettings settings_;
  std::vector<int64_t> batch_sizes_;
  std::vector<OutputType> outputs_;

  struct Place {
    absl::Mutex loading;
    std::weak_ptr<DeviceSession> session ABSL_GUARDED_BY(loading);
    bool is_warm ABSL_GUARDED_BY(loading) = false;
  };
  absl::Mutex mutex_;
  std::map<std::string, std::unique_ptr<Place>> places_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<DeviceSession> first_ ABSL_GUARDED_BY(mutex_);  // until an instance has it
  Place& PlaceOf(const Placement& placement);
};

}  // namespace onnx_cudnn::triton
