#include "runtime/plan/product.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace onnx_cudnn {
namespace {

// Whether the dims before the last two are all 1, or equal those of `result`.
bool HasOneStride(const Dims& dims, const Dims& result) {
  const auto batch = absl::MakeConstSpan(dims).first(dims.size() - 2);
  const auto whole = absl::MakeConstSpan(result).first(result.size() - 2);
  const bool is_one = std::all_of(batch.begin(), batch.end(), [](int64_t d) { return d == 1; });
  return is_one || batch == whole;
}

}  // namespace

bool IsMatrixProduct(const Node& node) { return node.op() == "MatMul" || node.op() == "Gemm"; }

Support CheckProduct(const Node& node) {
  for (int i = 0; i < 2; ++i) {
    if (node.input(i).rank() < 2) return Support::No(node.input(i).name() + " is a vector");
  }
  for (int i = 0; i < 2; ++i) {
    const Value& operand = node.input(i);
    if (HasOneStride(operand.dims(), node.output(0).dims())) continue;
    return Support::No(absl::StrCat(operand.name(), " ", ToString(operand.type()),
                                    " broadcasts over a part of the batch only"));
  }
  return Support::Yes();
}

bool RowsFill(const Node& node, int64_t bits) {
  for (const Value* v : {&node.input(0), &node.input(1), &node.output(0)}) {
    if (v->dim(v->rank() - 1) * BitsOf(v->dtype()) % bits != 0) return false;
  }
  return true;
}

Product ProductOf(const Node& node) {
  const Value& a = node.input(0);
  const Value& y = node.output(0);
  const bool is_transposed = node.op() == "Gemm" && node.attrs().Int("transA", 0) != 0;
  Product product{.rows = y.dim(y.rank() - 2),
                  .columns = y.dim(y.rank() - 1),
                  .depth = a.dim(a.rank() - (is_transposed ? 2 : 1))};
  product.batch = y.elements() / (product.rows * product.columns);
  return product;
}

}  // namespace onnx_cudnn
