#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/node_refusal.h"
#include "runtime/import/external_data.h"
#include "runtime/import/limits.h"

namespace onnx_cudnn {

// The environment of a model message.
struct ImportContext {
  Limits limits = {};
  ExternalData* external = nullptr;       // nullptr: external data is refused
  std::vector<HostTensor> payloads = {};  // as in ParsedModel; may be empty
  LoadRefusals* refusals = nullptr;       // as in LoadOptions
};

// Converts a model message to a Graph; see LoadModel. Large payloads are moved out of the message,
// not copied.
absl::StatusOr<Graph> ImportModel(onnx::ModelProto model, const ImportContext& context);

}  // namespace onnx_cudnn
