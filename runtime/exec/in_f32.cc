#include "runtime/exec/in_f32.h"

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/graph/float16.h"
#include "runtime/ops/evaluate.h"

namespace onnx_cudnn {
namespace {

bool IsShort(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

bool IsShort(const Value* v) {
  return v != nullptr && v->type().is_tensor() && IsShort(v->dtype());
}

template <typename T>
HostTensor Widened(const HostTensor& tensor) {
  HostTensor wide = HostTensor::Allocate(DType::kF32, tensor.dims());
  const absl::Span<const T> from = tensor.data<T>();
  std::transform(from.begin(), from.end(), wide.mutable_data<float>().begin(),
                 [](T x) { return ToFloat(x); });
  return wide;
}

// A Cast to a short type becomes one to f32.
void WidenCast(Graph& graph, Node& node) {
  if (node.op() != "Cast") return;
  const auto to = static_cast<DType>(node.attrs().Int("to", 0));
  if (IsShort(to)) graph.SetAttr(node, "to", static_cast<int64_t>(DType::kF32));
}

}  // namespace

bool HasShortFloats(absl::Span<const Node* const> nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    const auto has = [](absl::Span<Value* const> values) {
      return std::any_of(values.begin(), values.end(), [](const Value* v) { return IsShort(v); });
    };
    return has(node->inputs()) || has(node->outputs());
  });
}

HostTensor InF32(const HostTensor& tensor) {
  if (tensor.dtype() == DType::kF16) return Widened<Float16>(tensor);
  return tensor.dtype() == DType::kBF16 ? Widened<BFloat16>(tensor) : tensor;
}

absl::StatusOr<std::vector<HostTensor>> EvaluateInF32(absl::Span<const Node* const> nodes,
                                                      absl::Span<const HostTensor> sources) {
  Graph graph = Extract(nodes);
  for (Node* node : graph.TopologicalOrder()) {
    if (!node->bodies().empty()) {
      return absl::UnimplementedError("the types of bodies are not changed");
    }
    WidenCast(graph, *node);
  }
  for (Value* v : graph.Values()) {
    if (IsShort(v)) graph.SetType(*v, Type::Tensor(DType::kF32, v->dims()));
  }
  std::vector<HostTensor> wide;
  for (const HostTensor& source : sources) wide.push_back(InF32(source));
  return Evaluate(graph, wide);
}

}  // namespace onnx_cudnn
