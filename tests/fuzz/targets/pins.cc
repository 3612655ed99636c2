#include "passes/partition/pins.h"
#include "absl/log/check.h"
#include "tests/fuzz/targets.h"

namespace onnx_cudnn {

void FuzzPins(std::string_view text) {
  const absl::StatusOr<std::vector<PinRule>> rules = ParsePins(text, "pins.txt");
  if (!rules.ok()) {
    CHECK(absl::IsInvalidArgument(rules.status())) << rules.status();
    return;
  }
  CHECK_LE(rules->size(), kMaxPinRules);
  for (const PinRule& rule : *rules) {
    CHECK(!rule.nodes.empty() && rule.nodes.size() <= kMaxPinnedNodes) << rule.where;
  }
}

}  // namespace onnx_cudnn
