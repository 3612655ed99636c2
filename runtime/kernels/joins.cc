#include "runtime/kernels/joins.h"

#include <algorithm>

namespace onnx_cudnn {
namespace {

constexpr Rule kNotElementWise = {"only element-wise ops join a kernel of ours",
                                  "none: another kernel runs the node"};
constexpr Rule kOtherDims = {"the node writes another shape than the kernel it would join",
                             "expand the smaller operand before both"};
constexpr Rule kSmallOperand = {"the operand is smaller than what the kernel computes on",
                                "none: it is computed once and read by every block"};

bool SameDims(const Value& a, const Value& b) {
  return a.is_static() && b.is_static() && a.dims() == b.dims();
}

}  // namespace

const Rule* JoinsAsReader(const GrowthStep& step) {
  if (!IsPointwise(step.node)) return &kNotElementWise;
  return SameDims(step.edge, step.node.output(0)) ? nullptr : &kOtherDims;
}

const Rule* JoinsAsProducer(const GrowthStep& step) {
  if (!IsPointwise(step.node)) return &kNotElementWise;
  const auto computes = [&](const Node* node) {
    return SameDims(step.edge, node->output(0)) ||
           (node->op() == "Conv" && SameDims(step.edge, node->input(0)));
  };
  const bool full = std::any_of(step.nodes.begin(), step.nodes.end(), computes);
  return full ? nullptr : &kSmallOperand;
}

}  // namespace onnx_cudnn
