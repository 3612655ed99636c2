// Sessions of Graphs that were made in memory.
#pragma once

#include <utility>

#include "runtime/base/status.h"
#include "runtime/loaded_model.h"
#include "runtime/session.h"

namespace onnx_cudnn {

struct SessionMaker {
  static absl::StatusOr<Session> Make(Graph graph, const SessionOptions& options) {
    ASSIGN_OR_RETURN(OpenedDevice opened, OpenDevice(options.device, options.target));
    ASSIGN_OR_RETURN(auto model,
                     LoadedModel::Create(std::move(graph), options, 0, std::move(opened)));
    return Session(std::move(model));
  }
};

}  // namespace onnx_cudnn
