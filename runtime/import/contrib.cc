#include "runtime/import/contrib.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/custom_op.h"
#include "runtime/graph/inverse_type.h"
#include "runtime/import/check_node.h"
#include "runtime/import/check_types.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kMicrosoft = kMicrosoftDomain;
constexpr std::string_view kPreview = "ai.onnx.preview";
constexpr std::string_view kTraining = "ai.onnx.preview.training";

struct ContribRow {
  std::string_view domain, op;
  int since;  // opset of the domain
  void (*expand)(Expansion& x);
};

// Sorted by domain, then op. "SimplifiedLayerNormalization" is onnxruntime's, in ONNX's domain.
constexpr ContribRow kRows[] = {
    {"", "SimplifiedLayerNormalization", 1, ExpandSimplifiedLayerNormalization},
    {kPreview, "FlexAttention", 1, ExpandFlexAttention},
    {kTraining, "Adagrad", 1, ExpandAdagrad},
    {kTraining, "Adam", 1, ExpandAdam},
    {kTraining, "Momentum", 1, ExpandMomentum},
    {kMicrosoft, "Attention", 1, ExpandAttention},
    {kMicrosoft, "BiasAdd", 1, ExpandBiasAdd},
    {kMicrosoft, "BiasGelu", 1, ExpandBiasGelu},
    {kMicrosoft, "BiasSplitGelu", 1, ExpandBiasSplitGelu},
    {kMicrosoft, "DequantizeLinear", 1, ExpandDequantizeLinear},
    {kMicrosoft, "DynamicQuantizeLSTM", 1, ExpandDynamicQuantizeLSTM},
    {kMicrosoft, "DynamicQuantizeMatMul", 1, ExpandDynamicQuantizeMatMul},
    {kMicrosoft, "EmbedLayerNormalization", 1, ExpandEmbedLayerNormalization},
    {kMicrosoft, "ExpandDims", 1, ExpandExpandDims},
    {kMicrosoft, "FastGelu", 1, ExpandFastGelu},
    {kMicrosoft, "FusedConv", 1, ExpandFusedConv},
    {kMicrosoft, "FusedGemm", 1, ExpandFusedGemm},
    {kMicrosoft, "FusedMatMul", 1, ExpandFusedMatMul},
    {kMicrosoft, "FusedMatMulActivation", 1, ExpandFusedMatMulActivation},
    {kMicrosoft, "GatherBlockQuantized", 1, ExpandGatherBlockQuantized},
    {kMicrosoft, "GatherND", 1, ExpandGatherND},
    {kMicrosoft, "Gelu", 1, ExpandGelu},
    {kMicrosoft, "GroupNorm", 1, ExpandGroupNorm},
    {kMicrosoft, "GroupQueryAttention", 1, ExpandGroupQueryAttention},
    {kMicrosoft, "Inverse", 1, ExpandInverse},
    {kMicrosoft, "MatMulIntegerToFloat", 1, ExpandMatMulIntegerToFloat},
    {kMicrosoft, "MatMulNBits", 1, ExpandMatMulNBits},
    {kMicrosoft, "MultiHeadAttention", 1, ExpandMultiHeadAttention},
    {kMicrosoft, "NhwcConv", 1, ExpandNhwcFusedConv},
    {kMicrosoft, "NhwcFusedConv", 1, ExpandNhwcFusedConv},
    {kMicrosoft, "NhwcMaxPool", 1, ExpandNhwcMaxPool},
    {kMicrosoft, "PackedAttention", 1, ExpandPackedAttention},
    {kMicrosoft, "PackedMultiHeadAttention", 1, ExpandPackedMultiHeadAttention},
    {kMicrosoft, "Pad", 1, ExpandPad},
    {kMicrosoft, "PagedAttention", 1, ExpandPagedAttention},
    {kMicrosoft, "QAttention", 1, ExpandQAttention},
    {kMicrosoft, "QEmbedLayerNormalization", 1, ExpandQEmbedLayerNormalization},
    {kMicrosoft, "QGemm", 1, ExpandQGemm},
    {kMicrosoft, "QLinearAdd", 1, ExpandQLinearAdd},
    {kMicrosoft, "QLinearAveragePool", 1, ExpandQLinearAveragePool},
    {kMicrosoft, "QLinearConcat", 1, ExpandQLinearConcat},
    {kMicrosoft, "QLinearConv", 1, ExpandQLinearConv},
    {kMicrosoft, "QLinearGlobalAveragePool", 1, ExpandQLinearGlobalAveragePool},
    {kMicrosoft, "QLinearLeakyRelu", 1, ExpandQLinearLeakyRelu},
    {kMicrosoft, "QLinearMul", 1, ExpandQLinearMul},
    {kMicrosoft, "QLinearReduceMean", 1, ExpandQLinearReduceMean},
    {kMicrosoft, "QLinearSigmoid", 1, ExpandQLinearSigmoid},
    {kMicrosoft, "QLinearSoftmax", 1, ExpandQLinearSoftmax},
    {kMicrosoft, "QLinearWhere", 1, ExpandQLinearWhere},
    {kMicrosoft, "QuantizeLinear", 1, ExpandQuantizeLinear},
    {kMicrosoft, "QuickGelu", 1, ExpandQuickGelu},
    {kMicrosoft, "Range", 1, ExpandRange},
    {kMicrosoft, "RotaryEmbedding", 1, ExpandRotaryEmbedding},
    {kMicrosoft, "SkipGroupNorm", 1, ExpandSkipGroupNorm},
    {kMicrosoft, "SkipLayerNormalization", 1, ExpandSkipLayerNormalization},
    {kMicrosoft, "SkipSimplifiedLayerNormalization", 1, ExpandSkipSimplifiedLayerNormalization},
    {kMicrosoft, "TransposeMatMul", 1, ExpandFusedMatMul},
    {kMicrosoft, "Trilu", 1, ExpandTrilu},
};

constexpr bool Before(const ContribRow& a, const ContribRow& b) {
  return a.domain != b.domain ? a.domain < b.domain : a.op < b.op;
}
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows), Before));

const ContribRow* FindRow(std::string_view domain, std::string_view op) {
  const ContribRow* row = std::lower_bound(std::begin(kRows), std::end(kRows),
                                           ContribRow{domain, op, 0, nullptr}, Before);
  return row != std::end(kRows) && row->domain == domain && row->op == op ? row : nullptr;
}

bool HasDomain(std::string_view domain) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const ContribRow& row) { return row.domain == domain; });
}

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> ContribOps() {
  std::vector<std::pair<std::string_view, std::string_view>> ops;
  for (const ContribRow& row : kRows) ops.emplace_back(row.domain, row.op);
  return ops;
}

bool IsReplaced(const NodeSpec& spec) {
  return spec.domain.empty() && spec.op == "RotaryEmbedding" && KnowsRotation(spec);
}

bool IsContrib(std::string_view domain, std::string_view op) {
  return FindRow(domain, op) != nullptr && FindCustomOp(op, domain) == nullptr;
}

Support CheckContrib(std::string_view domain, std::string_view op, int opset) {
  const ContribRow* row = FindRow(domain, op);
  if (row == nullptr) {
    return Support::No(HasDomain(domain) ? "the op is not implemented" : "the domain is not taken");
  }
  if (opset >= row->since) return Support::Yes();
  return Support::No(absl::StrCat("opsets from ", row->since, " on are taken"));
}

absl::StatusOr<std::vector<Value*>> AppendContrib(Graph& graph, ShapeInference& inference,
                                                  NodeSpec spec) {
  const bool is_replaced = IsReplaced(spec);
  const ContribRow row = is_replaced
                             ? ContribRow{.since = 23, .expand = ExpandStandardRotaryEmbedding}
                             : *FindRow(spec.domain, spec.op);
  if (spec.domain == kPreview || spec.domain == kTraining) {  // ONNX has schemas of these
    RETURN_IF_ERROR(CheckNode(spec));
    RETURN_IF_ERROR(CheckTypes(spec));
  }
  Expansion expansion(graph, inference, std::move(spec));
  row.expand(expansion);
  return std::move(expansion).Finish();
}

}  // namespace onnx_cudnn
