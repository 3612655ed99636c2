#include "runtime/kernels/common/joins.h"

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
constexpr Rule kNotInFormula = {"it computes relu(conv + residual), with either part absent",
                                "none: small_batch_conv's and cuDNN's epilogues take more"};
constexpr Rule kOneResult = {"it writes one result, and this value has other readers",
                             "none: small_batch_conv may write both"};

bool SameDims(const Value& a, const Value& b) {
  return a.is_static() && b.is_static() && a.dims() == b.dims();
}

// Why its op or types keep `node` from joining; nullptr: they do not.
const Rule* WhyNotJoined(const Node& node) {
  if (!IsPointwise(node)) return &kNotElementWise;
  return CheckOperands(node) ? nullptr : &kOtherTypes;
}

bool HasOp(absl::Span<const Node* const> nodes, std::string_view op) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* n) { return n->op() == op; });
}

// ONNX's inference does not check that the slope of a PRelu broadcasts to its input.
bool Broadcasts(const Value& input, const Value& output) {
  if (!input.is_static() || !output.is_static()) return true;
  const Dims from = input.dims(), to = output.dims();
  if (from.size() > to.size()) return false;
  const absl::Span<const int64_t> last = absl::MakeConstSpan(to).last(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != last[i]) return false;
  }
  return true;
}

const Rule* JoinsAsResidualOrRelu(const GrowthStep& step) {
  if (const Rule* no = JoinsAsReader(step)) return no;
  if (!step.edge.has_one_use()) return &kOneResult;
  if (HasOp(step.nodes, "Relu")) return &kNotInFormula;
  if (step.node.op() == "Relu") return nullptr;
  if (step.node.op() != "Add" || HasOp(step.nodes, "Add")) return &kNotInFormula;
  const Value& other = step.node.input(&step.node.input(0) == &step.edge ? 1 : 0);
  const bool is_residual = !other.is_constant() && other.type() == step.edge.type();
  return is_residual ? nullptr : &kNotInFormula;
}

}  // namespace

Support CheckOperands(const Node& node) {
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    for (const Value* v : values) {
      if (v == nullptr || kFixedSizeTypes.Has(v->dtype())) continue;
      return Support::No(absl::StrCat("it does not take ", NameOf(v->dtype())));
    }
  }
  for (const Value* input : node.inputs()) {
    if (input == nullptr || Broadcasts(*input, node.output(0))) continue;
    return Support::No(absl::StrCat(input->name(), " is ", ToString(input->type()),
                                    ", which does not broadcast to ",
                                    ToString(node.output(0).type())));
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

GrowthOptions GrowByResidualAndRelu(const Unit& /*unit*/) {
  return {.forward = JoinsAsResidualOrRelu, .most_added = 2};
}

}  // namespace onnx_cudnn
