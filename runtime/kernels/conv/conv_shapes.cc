#include "runtime/kernels/conv/conv_shapes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

std::vector<const Node*> ConvsOf(const std::vector<const Node*>& nodes) {
  std::vector<const Node*> convs;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(convs),
               [](const Node* node) { return node->op() == "Conv"; });
  return convs;
}

std::vector<const Node*> TwoSources(const Node& conv) {
  const Value& out = conv.output(0);
  if (out.only_reader() == nullptr) return {};
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

const Node* ZeroPadBefore(const Node& conv) {
  const Value& x = conv.input(0);
  const Node* pad = x.producer();
  if (pad == nullptr || pad->op() != "Pad" || !x.has_one_use() || x.rank() != 4) return nullptr;
  if (pad->attrs().String("mode", "constant") != "constant") return nullptr;
  if (pad->has_input(2) || pad->has_input(3) || !pad->input(1).is_constant()) return nullptr;
  const absl::StatusOr<std::vector<int64_t>> pads = ToInts(pad->input(1).constant());
  if (!pads.ok() || pads->size() != 8) return nullptr;
  for (size_t i = 0; i < pads->size(); ++i) {
    const bool is_spatial = i % 4 >= 2;
    if ((*pads)[i] < 0 || (!is_spatial && (*pads)[i] != 0)) return nullptr;
  }
  return pad;
}

absl::StatusOr<ConvShape> ShapeWithPad(const Node& conv, const Node& pad) {
  ASSIGN_OR_RETURN(ConvShape shape, StaticConvShape(conv));
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads, ToInts(pad.input(1).constant()));
  for (size_t i = 0; i < 2; ++i) {
    WindowAxis& axis = shape.window.axes[1 + i];
    axis.in -= pads[2 + i] + pads[6 + i];
    axis.pad_begin += pads[2 + i];
    axis.pad_end += pads[6 + i];
  }
  return shape;
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
