// A model's configuration: what Triton knows of it, completed from the model and checked with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "onnx_cudnn/model_value.h"
#include "runtime/triton/settings.h"

namespace onnx_cudnn::triton {

using Json = nlohmann::json;

// The dims that a scalar has for clients.
inline const std::vector<int64_t> kScalarDims = {1};

// Instances of one kind on one device.
struct InstanceGroup {
  std::string kind;       // "KIND_CPU", "KIND_GPU", "KIND_MODEL"
  std::vector<int> gpus;  // of KIND_GPU
  int count = 1;          // on each
};

// Instances that share a Session of this group's kind and, of KIND_GPU, device.
int InstancesOn(const std::vector<InstanceGroup>& groups, const std::string& kind, int gpu);

struct ModelConfig {
  std::string file;  // of the model, in the folder of its version
  int64_t max_batch = 0;
  Parameters parameters;
  std::vector<InstanceGroup> groups;
};

absl::StatusOr<ModelConfig> ReadConfig(const Json& config);

// Whether the first dim of every input and output is one symbol, so that requests can be joined.
bool HasBatchAxis(const std::vector<ValueInfo>& inputs, const std::vector<ValueInfo>& outputs);

// Adds to `config` what it leaves out: inputs and outputs, and where it has none of them
// max_batch_size and dynamic batching.
//   default_max_batch  for a model with a batch axis; 0: none
//   errors             Unimplemented: an input or output that is none in Triton
absl::Status CompleteConfig(const std::vector<ValueInfo>& inputs,
                            const std::vector<ValueInfo>& outputs, int64_t default_max_batch,
                            Json& config);

// Checks inputs and outputs of `config` with those of the model.
//   errors  InvalidArgument: names, types or dims differ; a batch without a batch axis.
//           Unimplemented: features of configurations that this backend does not have
absl::Status CheckConfig(const Json& config, const std::vector<ValueInfo>& inputs,
                         const std::vector<ValueInfo>& outputs);

// The shapes of a batch of `rows` (0: of models without batches), parallel to `inputs`, with the
// dims of the configuration where the model has symbols.
//   errors  FailedPrecondition: the configuration has none either
absl::StatusOr<std::vector<std::vector<int64_t>>> InputShapes(const Json& config,
                                                              const std::vector<ValueInfo>& inputs,
                                                              int64_t rows);

}  // namespace onnx_cudnn::triton
