#include "runtime/kernels/joins.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

constexpr Rule kNotElementWise = {"only element-wise ops join a kernel of ours",
                                  "none: another kernel runs the node"};
constexpr Rule kOtherTypes = {
    "element-wise kernels compute on f16, bf16, f32, f64, integers of 8 to 64 bits and bool",
    "none: the host converts smaller types"};
constexpr Rule kOtherDims = {"the node writes another shape than the kernel it would join",
                             "expand the smaller operand before both"};
constexpr Rule kSmallOperand = {"the operand is smaller than what the kernel computes on",
                                "none: it is computed once and read by every block"};

bool SameDims(const Value& a, const Value& b) {
  return a.is_static() && b.is_static() && a.dims() == b.dims();
}

// nullptr: it may join, as far as its op and types say.
const Rule* WhyNotJoined(const Node& node) {
  if (!IsPointwise(node)) return &kNotElementWise;
  return CheckElementTypes(node) ? nullptr : &kOtherTypes;
}

}  // namespace

Support CheckElementTypes(const Node& node) {
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    for (const Value* v : values) {
      if (v == nullptr || kFixedSizeTypes.Has(v->dtype())) continue;
      return Support::No(absl::StrCat("it does not take ", NameOf(v->dtype())));
    }
  }
  return Support::Yes();
}

const Rule* JoinsAsReader(const GrowthStep& step) {
  if (const Rule* no = WhyNotJoined(step.node)) return no;
  return SameDims(step.edge, step.node.output(0)) ? nullptr : &kOtherDims;
}

const Rule* JoinsAsProducer(const GrowthStep& step) {
  if (const Rule* no = WhyNotJoined(step.node)) return no;
  const auto computes = [&](const Node* node) {
    return SameDims(step.edge, node->output(0)) ||
           (node->op() == "Conv" && SameDims(step.edge, node->input(0)));
  };
  const bool full = std::any_of(step.nodes.begin(), step.nodes.end(), computes);
  return full ? nullptr : &kSmallOperand;
}

}  // namespace onnx_cudnn
