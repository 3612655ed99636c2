// The data that the functions of downgrade_steps.cc work on. Only they and downgrade.cc include
// this.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "runtime/base/support.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// An operation that is being converted from the newest opset to an older one.
struct OlderForm {
  NodeSpec spec;
  Graph& constants;  // holds constants that the operation reads and its Node does not

  Value* input(size_t i) const { return i < spec.inputs.size() ? spec.inputs[i] : nullptr; }
  void DropInput(size_t i);
  // Moves input `i`, if present, to attribute `name`, a list of integers. No: it is not constant.
  Support IntsToAttribute(size_t i, std::string_view name);
};

// Converts a form of `version` to the one before it, or refuses.
using DowngradeStep = Support (*)(OlderForm& form);

struct DowngradeRow {
  std::string_view op;
  int version;
  DowngradeStep step;
};

// Sorted by op, then version: the inverses of UpgradeRows, where there is one, and versions that
// gave more meaning to the same inputs and attributes.
absl::Span<const DowngradeRow> DowngradeRows();

}  // namespace onnx_cudnn
