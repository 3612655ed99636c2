#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "passes/pass.h"

namespace onnx_cudnn {

struct PassRun {
  std::string name;
  bool changed = false;
  double ms = 0;
  int nodes_before = 0, nodes_after = 0;
};

// When the Graph is verified. kAfterEachPass also checks that a Pass that reports no change made
// none.
enum class VerifyWhen : uint8_t { kAtTheEnd, kAfterEachPass };
#ifdef NDEBUG
inline constexpr VerifyWhen kVerifyByDefault = VerifyWhen::kAtTheEnd;
#else
inline constexpr VerifyWhen kVerifyByDefault = VerifyWhen::kAfterEachPass;
#endif

struct PassManagerOptions {
  std::set<std::string, std::less<>>
      disabled;  // names; InvalidArgument: not the name of a pass of any pipeline
  VerifyWhen verify = kVerifyByDefault;
  bool reports_progress = false;                                 // as ProgressStage::kOptimizing
  std::function<void(const PassRun&, const Graph&)> after_pass;  // to dump the Graph; may be empty
};

// Runs `passes` in order, once each. Errors carry the name of the pass.
//   errors  those of the passes; Cancelled: between two passes, by the call in progress
absl::StatusOr<std::vector<PassRun>> RunPasses(Graph& graph,
                                               const std::vector<std::unique_ptr<Pass>>& passes,
                                               const PassManagerOptions& options,
                                               PassContext& context);

}  // namespace onnx_cudnn
