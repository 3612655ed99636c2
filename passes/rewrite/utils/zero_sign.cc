#include "passes/rewrite/utils/zero_sign.h"

#include <algorithm>

#include "passes/rewrite/utils/linear_op.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostValues = 32;

bool TellsZerosApart(const Use& use) {
  const Node& node = *use.node;
  return !node.domain().empty() || !node.bodies().empty() || node.op() == "Reciprocal" ||
         node.op() == "BitCast" || (node.op() == "Div" && use.index == 1) ||
         (node.op() == "Pow" && use.index == 0);
}

}  // namespace

bool SignOfZeroMatters(const Value& value) {
  std::vector<const Value*> reached = {&value};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const Use& use : reached[i]->uses()) {
      if (TellsZerosApart(use) || reached.size() > kMostValues) return true;
      if (IsLinear(use.node)) continue;  // a sum is +0 unless all its terms are −0
      for (const Value* output : use.node->outputs()) {
        const bool known = std::find(reached.begin(), reached.end(), output) != reached.end();
        if (output != nullptr && !known) reached.push_back(output);
      }
    }
  }
  return false;
}

}  // namespace onnx_cudnn
