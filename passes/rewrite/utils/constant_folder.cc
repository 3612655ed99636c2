#include "passes/rewrite/utils/constant_folder.h"

#include <algorithm>
#include <memory>
#include <new>

#include "passes/rewrite/utils/is_op.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/graph/custom_op.h"
#include "runtime/graph/infer.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/random_draw.h"
#include "runtime/ops/strings.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostFlops = int64_t{1} << 33;  // about a second in a reference
constexpr size_t kWorkspaceAlignment = 64;

bool AllInputsConstant(const Node& node) {
  return std::all_of(node.inputs().begin(), node.inputs().end(),
                     [](const Value* v) { return v == nullptr || v->is_constant(); });
}

bool AllOutputsStatic(const Node& node) {
  return std::all_of(node.outputs().begin(), node.outputs().end(),
                     [](const Value* v) { return v == nullptr || v->is_static(); });
}

void ReplaceOutput(Graph& graph, Node& node, int index, HostTensor tensor) {
  Value& old = node.output(index);
  if (old.uses().empty() && !old.is_graph_output()) return;
  Value& constant = graph.AddConstant(std::move(tensor), old.name());
  graph.ReplaceAllUses(old, constant);
}

// The dims that Shape<start, end> returns; nullopt if one of them is not a number.
std::optional<std::vector<int64_t>> ShapeOf(const Node& node) {
  const Type& type = node.input(0).type();
  if (!type.is_tensor() || !type.ranked) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(type.dims.size());
  const auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t end = clamp(node.attrs().Int("end", rank));
  std::vector<int64_t> dims;
  for (int64_t i = clamp(node.attrs().Int("start", 0)); i < end; ++i) {
    if (type.dims[i].value < 0) return std::nullopt;
    dims.push_back(type.dims[i].value);
  }
  return dims;
}

Match FoldShape(Graph& graph, Node& node) {
  if (node.op() == "Size") {
    if (!node.input(0).is_static()) return Match::No(node, "the input's shape is not known");
    const int64_t size = node.input(0).elements();
    ReplaceOutput(graph, node, 0, HostTensor::Of<int64_t>(DType::kI64, {}, {size}));
    return Match::Changed();
  }
  const std::optional<std::vector<int64_t>> dims = ShapeOf(node);
  if (!dims.has_value()) return Match::No(node, "the input's shape is not known");
  ReplaceOutput(graph, node, 0, HostTensor::Ints(*dims));
  return Match::Changed();
}

struct AlignedFree {
  void operator()(void* p) const { ::operator delete (p, std::align_val_t{kWorkspaceAlignment}); }
};
using Workspace = std::unique_ptr<void, AlignedFree>;

int64_t WorkspaceBytes(const Node& node) {
  const OpDef* op = FindOp(node);
  return op == nullptr || op->workspace == nullptr ? 0 : op->workspace(node);
}

absl::StatusOr<std::vector<HostTensor>> RunReference(const Node& node) {
  const size_t inputs = node.inputs().size(), outputs = node.outputs().size();
  std::vector<TensorRef> in(inputs);
  for (size_t i = 0; i < inputs; ++i) {
    if (node.inputs()[i] == nullptr) continue;
    const HostTensor& tensor = node.inputs()[i]->constant();
    in[i] = {tensor.dtype(), tensor.dims(), tensor.raw()};
  }
  std::vector<HostTensor> tensors(outputs);
  std::vector<MutableTensorRef> out(outputs);
  for (size_t i = 0; i < outputs; ++i) {
    if (node.outputs()[i] == nullptr) continue;
    tensors[i] = HostTensor::Allocate(node.outputs()[i]->dtype(), node.outputs()[i]->dims());
    out[i] = {tensors[i].dtype(), tensors[i].dims(), tensors[i].mutable_raw()};
  }
  const Workspace workspace(
      ::operator new (WorkspaceBytes(node), std::align_val_t{kWorkspaceAlignment}));
  RETURN_IF_ERROR(EvaluateNode({node, in, out, workspace.get(), ThreadPool::Default()}));
  return tensors;
}

}  // namespace

std::string_view ConstantFolder::WhyTooLarge(const Node& node) const {
  int64_t replaced = 0;
  for (const Value* v : node.inputs()) {
    if (v != nullptr && v->has_one_use()) replaced += v->bytes();
  }
  int64_t total = folded_bytes_;
  for (const Value* v : node.outputs()) {
    if (v == nullptr) continue;
    const absl::StatusOr<int64_t> bytes = CheckedBytes(v->dtype(), v->dims());
    if (!bytes.ok() || (*bytes > limits_.folded_value_bytes && *bytes > replaced)) {
      return "the result is larger than the limit of one folded value";
    }
    total += *bytes;
    if (total > limits_.folded_bytes) return "folding made as many bytes as the limit allows";
  }
  return "";
}

bool ConstantFolder::StartsAt(const Node& node) {
  if (IsOp(&node, {"Shape", "Size"})) return true;
  return node.domain() != kOwnDomain && FindCustomOp(node) == nullptr && node.bodies().empty() &&
         !node.inputs().empty() && AllInputsConstant(node);
}

Match ConstantFolder::Fold(Graph& graph, Node& node) {
  if (!StartsAt(node)) return Match::None();
  if (node.op() == "Shape" || node.op() == "Size") return FoldShape(graph, node);
  if (IsRandom(node)) return Match::No(node, "its result is random");
  if (node.op() == "DequantizeLinear") return Match::No(node, "stored weights stay quantized");
  if (!AllOutputsStatic(node) && !ShapeInference(graph).Infer(node).ok()) {
    return Match::No(node, "its types contradict its constants");
  }
  const OpDef* op = FindOp(node);
  const bool on_strings = TouchesStrings(node) && !TraitsOf(node).keeps_bytes;
  if (on_strings || (op != nullptr && op->evaluate != nullptr)) return FoldEvaluated(graph, node);
  if (!AllOutputsStatic(node)) return Match::No(node, "the output's shape is not known");
  return Evaluate(graph, node);
}

Match ConstantFolder::Evaluate(Graph& graph, Node& node) {
  if (TraitsOf(node).keeps_bytes) {
    if (node.input(0).elements() != node.output(0).elements()) {
      return Match::No(node, "its types contradict its constants");
    }
    ReplaceOutput(graph, node, 0, node.input(0).constant().Reshaped(node.output(0).dims()));
    return Match::Changed();
  }
  if (const std::string_view why = WhyTooLarge(node); !why.empty()) return Match::No(node, why);
  if (!CheckOp(node)) return Match::No(node, "there is no reference for it");
  if (CostOf(node).flops > kMostFlops || WorkspaceBytes(node) > limits_.folded_bytes) {
    return Match::No(node, "it takes too long to compute while loading");
  }
  absl::StatusOr<std::vector<HostTensor>> results = RunReference(node);
  if (!results.ok()) return Match::No(node, "its reference refuses these constants");
  Replace(graph, node, *std::move(results));
  return Match::Changed();
}

Match ConstantFolder::FoldEvaluated(Graph& graph, Node& node) {
  absl::StatusOr<std::vector<HostTensor>> results = EvaluateConstants(node);
  if (!results.ok()) return Match::No(node, "its op refuses these constants");
  for (const HostTensor& tensor : *results) {
    if (!tensor.defined()) continue;
    const bool is_strings = tensor.dtype() == DType::kString;
    const int64_t bytes = is_strings ? BytesOfStrings(tensor) : tensor.bytes();
    if (bytes > limits_.folded_value_bytes || folded_bytes_ + bytes > limits_.folded_bytes) {
      return Match::No(node, "the result is larger than the limits of folding");
    }
  }
  Replace(graph, node, *std::move(results));
  return Match::Changed();
}

void ConstantFolder::Replace(Graph& graph, Node& node, std::vector<HostTensor> results) {
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.outputs()[i] == nullptr) continue;
    const bool is_strings = results[i].dtype() == DType::kString;
    folded_bytes_ += is_strings ? BytesOfStrings(results[i]) : results[i].bytes();
    ReplaceOutput(graph, node, static_cast<int>(i), std::move(results[i]));
  }
}

bool SinkConstants(Graph& graph, Node& node) {
  const int first = static_cast<int>(node.inputs().size()) - node.captures();
  bool sunk = false;
  for (auto& [name, body] : graph.MutableBodies(node)) {
    const int offset = static_cast<int>(body->inputs().size()) - node.captures();
    for (int k = 0; k < node.captures(); ++k) {
      if (!node.has_input(first + k) || !node.input(first + k).is_constant()) continue;
      Value& inner = *body->inputs()[offset + k];
      if (inner.uses().empty() && !inner.is_graph_output()) continue;
      Value& constant = body->AddConstant(node.input(first + k).constant(), inner.name());
      body->ReplaceAllUses(inner, constant);
      sunk = true;
    }
  }
  return sunk;
}

}  // namespace onnx_cudnn
