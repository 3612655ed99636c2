#include "passes/rewrite/utils/attention_mask.h"

#include "absl/functional/function_ref.h"
#include "passes/rewrite/utils/float_constants.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

// Whether `holds` for every element and its position. Copies none, since masks may be large.
bool AllHold(const HostTensor& tensor, absl::FunctionRef<bool(int64_t, double)> holds) {
  if (!kFloatTypes.Has(tensor.dtype())) return false;
  return VisitElementType(tensor.dtype(), [&](auto element) {
    const auto numbers = tensor.data<decltype(element)>();
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!holds(static_cast<int64_t>(i), Widen<double>(numbers[i]))) return false;
    }
    return true;
  });
}

}  // namespace

bool IsCausalMask(const HostTensor& constant, const Dims& scores) {
  const Dims dims = constant.dims();
  const int64_t n = scores.back();
  if (scores.size() < 2 || scores[scores.size() - 2] != n || n < 2) return false;
  if (dims.size() < 2 || dims.back() != n || dims[dims.size() - 2] != n) return false;
  return AllHold(constant, [n](int64_t at, double number) {
    const int64_t key = at % n, query = at / n % n;
    return key > query ? number <= kExcludes : number == 0;
  });
}

bool AddsNothing(const HostTensor& constant) {
  return AllHold(constant, [](int64_t, double number) { return number == 0; });
}

Value& SafeMask(Graph& graph, Value& mask) {
  if (IsSafeMask(mask)) return mask;
  const DType dtype = mask.dtype();
  Value& least = graph.AddConstant(*FromDoubles(dtype, {}, {kExcludes}), "least");
  const auto add = [&](const char* op, std::vector<Value*> inputs, DType type) -> Value& {
    Node& node = graph.AddNode({.op = op, .inputs = std::move(inputs)});
    graph.SetType(node.output(0), Type::Tensor(type, mask.dims()));
    return node.output(0);
  };
  Value& is_infinite = add("IsInf", {&mask}, DType::kBool);
  Value& bounded = add("Max", {&mask, &least}, dtype);
  return add("Where", {&is_infinite, &mask, &bounded}, dtype);
}

}  // namespace onnx_cudnn
