#include "runtime/kernels/gemm/row_product.h"

#include <algorithm>

#include "runtime/kernels/common/joins.h"
#include "runtime/kernels/gemm/gemv.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;  // of x and y: offsets are 32 bits

constexpr Rule kNotInFormula = {
    "it computes activation(x·w + bias + residual), with any part absent",
    "none: cuDNN's epilogues take more"};

}  // namespace

bool RowProduct::has_transposed_weights() const {
  return product->op() == "Gemm" && product->attrs().Int("transB", 0) != 0;
}

int64_t RowProduct::depth() const { return x().dim(x().rank() - 1); }

int64_t RowProduct::columns() const {
  const Value& result = product->output(0);
  return result.dim(result.rank() - 1);
}

int64_t RowProduct::rows() const { return product->output(0).elements() / columns(); }

ConvShape RowProduct::AsConv() const {
  ConvShape shape{.images = 1, .channels = depth(), .filters = columns()};
  shape.window.axes.back() = {.in = rows(), .out = rows()};
  return shape;
}

RowProduct RowProductOf(const Unit& unit) {
  RowProduct found;
  for (const Node* node : unit.nodes) {
    if (IsGemv(*node)) {
      found.product = node;
      if (node->has_input(2)) found.bias = &node->input(2);
    } else if (node->op() == "Add") {
      const Value& addend = Addend(*node, *found.y);
      (IsBias(addend, *found.y) ? found.bias : found.residual) = &addend;
    } else {
      found.activation = node;
    }
    found.y = &node->output(0);
  }
  return found;
}

Support CheckRowProduct(const Node& product) {
  if (Support s = CheckConstantMatrix(product); !s) return s;
  if (Support s = CheckUnscaled(product); !s) return s;
  const Value &x = product.input(0), &y = product.output(0);
  if (y.elements() == 0 || x.elements() == 0) return Support::No("an operand is empty");
  if (std::max(x.elements(), y.elements()) >= kMostElements) {
    return Support::No("an operand has 2^31 elements or more");
  }
  return CheckBias(product);
}

const Rule* JoinsRowProduct(const GrowthStep& step) {
  if (const Rule* no = JoinsAsReader(step)) return no;
  if (!step.edge.has_one_use()) return &kWritesOneResult;
  const RowProduct so_far = RowProductOf(UnitOf({step.nodes.begin(), step.nodes.end()}));
  if (so_far.activation != nullptr) return &kNotInFormula;
  if (step.node.output(0).dtype() != step.edge.dtype()) return &kNotInFormula;
  if (step.node.op() != "Add") return step.node.inputs().size() == 1 ? nullptr : &kNotInFormula;
  const Value& addend = Addend(step.node, step.edge);
  if (IsBias(addend, step.edge)) {
    return so_far.bias == nullptr && so_far.residual == nullptr ? nullptr : &kNotInFormula;
  }
  const bool is_residual =
      so_far.residual == nullptr && &addend != &step.edge && addend.type() == step.edge.type();
  return is_residual ? nullptr : &kNotInFormula;
}

}  // namespace onnx_cudnn
