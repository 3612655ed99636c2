// Maintains a plan cache file, and fills it by tuning models.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {

struct PlanCacheRequest {
  std::vector<std::string> merge;  // files whose entries are added
  std::string prune;               // a device, or a version of an engine; empty: nothing is removed
  std::vector<std::string> models;
  std::vector<NamedText> shapes;  // of the models' inputs
  SessionOptions session;         // plan_cache is the path of the file
  bool list = false;
};

// Merges, prunes, tunes and lists, in this order. Returns a description of what it did, in lines.
absl::StatusOr<std::string> WorkOnPlanCache(const PlanCacheRequest& request);

}  // namespace onnx_cudnn
