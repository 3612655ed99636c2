#include "runtime/cudnn/cuda/lower.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cudnn/cuda/lower_anchor.h"
#include "runtime/cudnn/cuda/lower_pointwise.h"
#include "runtime/plan/fused_tensor.h"
#include "runtime/plan/grow.h"

namespace onnx_cudnn {
namespace {

struct AnchorRow {
  std::string_view op;
  Anchor (*make)();
};
constexpr AnchorRow kAnchors[] = {
    {"AveragePool", PoolingAnchor},
    {"Conv", ConvolutionAnchor},
    {"ConvTranspose", ConvolutionAnchor},
    {"Gemm", ProductAnchor},
    {"GlobalAveragePool", PoolingAnchor},
    {"GlobalMaxPool", PoolingAnchor},
    {"LayerNormalization", NormalizationAnchor},
    {"MatMul", ProductAnchor},
    {"MaxPool", PoolingAnchor},
    {"RMSNormalization", NormalizationAnchor},
    {"ReduceL1", ReductionAnchor},
    {"ReduceL2", ReductionAnchor},
    {"ReduceMax", ReductionAnchor},
    {"ReduceMean", ReductionAnchor},
    {"ReduceMin", ReductionAnchor},
    {"ReduceSum", ReductionAnchor},
};

const AnchorRow* FindAnchor(const Node& node) {
  const auto* row = std::find_if(std::begin(kAnchors), std::end(kAnchors),
                                 [&](const AnchorRow& r) { return r.op == node.op(); });
  return row == std::end(kAnchors) ? nullptr : row;
}

// The operand of `anchor` that `node`, which precedes it, computes or helps to compute.
const Value& OperandBehind(const Node& node, const Node& anchor,
                           absl::Span<const Node* const> before) {
  const Node* at = &node;
  const Node* const last = &anchor;
  while (!IsReadBy(at->output(0), {&last, 1})) {
    at = *std::find_if(before.begin(), before.end(), [&](const Node* reader) {
      return IsReadBy(at->output(0), {&reader, 1});
    });
  }
  return at->output(0);
}

absl::Status LowerAround(const Node& anchor, const Anchor& how, GraphBuilder& builder) {
  const std::vector<const Node*>& nodes = builder.candidate().nodes;
  const std::vector<const Node*> before = NodesBefore(anchor, nodes);
  for (const Node* node : nodes) {
    if (node == &anchor) continue;
    if (!Contains(before, node)) continue;
    const Value& operand = OperandBehind(*node, anchor, before);
    RETURN_IF_ERROR(LowerPointwise(*node, how.before(anchor, operand, builder), builder));
  }
  RETURN_IF_ERROR(how.lower(anchor, builder));
  const CudnnTensorView view = how.behind(anchor, builder);
  for (const Node* node : nodes) {
    if (node == &anchor || Contains(before, node)) continue;
    RETURN_IF_ERROR(LowerPointwise(*node, view, builder));
  }
  return absl::OkStatus();
}

// Whether a Value with the tensor's dims is channels-last and not row-major.
bool IsChannelsLast(const GraphBuilder& builder, const Dims& dims) {
  const Boundary boundary = BoundaryOf(builder.candidate().nodes);
  for (const std::vector<const Value*>* values : {&boundary.inputs, &boundary.outputs}) {
    for (const Value* v : *values) {
      if (v->dims() == dims && *builder.FormatOf(*v) != Format::RowMajor(dims)) return true;
    }
  }
  return false;
}

// A graph of element-wise Nodes only, all on one tensor.
absl::Status LowerPlain(GraphBuilder& builder) {
  const std::vector<const Node*>& nodes = builder.candidate().nodes;
  const Dims dims = nodes.back()->output(0).dims();
  const CudnnTensorView view = PlainView(dims, IsChannelsLast(builder, dims));
  for (const Node* node : nodes) RETURN_IF_ERROR(LowerPointwise(*node, view, builder));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CudnnGraph> Lower(const Candidate& candidate) {
  GraphBuilder builder(candidate);
  for (const Node* node : candidate.nodes) {
    if (node->op() == "Attention") {
      RETURN_IF_ERROR(LowerAttention(*node, builder));
      return std::move(builder).Finish(node->input(0).dtype());
    }
    const AnchorRow* row = FindAnchor(*node);
    if (row == nullptr) continue;
    RETURN_IF_ERROR(LowerAround(*node, row->make(), builder));
    return std::move(builder).Finish(node->input(0).dtype());
  }
  RETURN_IF_ERROR(LowerPlain(builder));
  return std::move(builder).Finish(candidate.nodes.back()->output(0).dtype());
}

}  // namespace onnx_cudnn
