#include "runtime/kernels/conv/conv_shapes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
std::vector<const Node*> ConvsOf(const std::vector<const Node*>& nodes) {
  std::vector<const Node*> convs;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(convs),
               [](const Node* node) { return node->op() == "Conv"; });
  return convs;
}

std::vector<const Node*> TwoSources(const Node& conv) {
  const Value& out = conv.output(0);
  if (!out.has_one_use() || out.uses().empty()) return {};
  const Use use = out.uses()[0];
  if (use.node->op() != "Add" || use.node->inputs().size() != 2) return {};
  const Value& operand = use.node->input(1 - use.index);
  const Node* other = operand.producer();
  if (other == nullptr || other == &conv || other->op() != "Conv") return {};
  if (!operand.has_one_use() || operand.type() != out.type()) return {};
  std::vector<const Node*> nodes = {&conv, other};
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return a->id() < b->id(); });
  nodes.push_back(use.node);
  return nodes;
}

Support CheckTensorCoreConv(const Node& conv, const ConvShape& shape) {
  if (conv.input(0).rank() != 4) return Support::No("it has not two spatial axes");
  if (shape.groups != 1) return Support::No(absl::StrCat("it has ", shape.groups, " groups"));
  const Window& window = shape.window;
  if (window.h().dilation != 1 || window.w().dilation != 1) return Support::No("it is dilated");
  return HasConstantWeights(conv) ? Support::Yes()
                                  : Support::No("weight or bias is not a constant");
}

bool IsDepthwiseSquare(const ConvShape& shape) {
  const WindowAxis &d = shape.window.d(), &h = shape.window.h(), &w = shape.window.w();
  return shape.filters == 1 && d.trivial() && d.in == 1 && h.kernel == w.kernel &&
         (h.kernel == 3 || h.kernel == 5 || h.kernel == 7) && h.stride == w.stride &&
         (h.stride == 1 || h.stride == 2) && h.dilation == 1 && w.dilation == 1;
}

}  // namespace onnx_cudnn
