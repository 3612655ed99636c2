#include "runtime/import/upgrade.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/ml_types.h"
#include "runtime/import/check_node.h"
#include "runtime/import/names.h"
#include "runtime/import/upgrade_form.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

// Sorted by op, then version. All other steps between two opsets change only the number.
constexpr UpgradeRow kSteps[] = {
    {"Add", 7, UpgradeLegacyBroadcast},
    {"And", 7, UpgradeLegacyBroadcast},
    {"BatchNormalization", 7, UpgradeBatchNormalization7},
    {"BatchNormalization", 9, UpgradeBatchNormalization9},
    {"BatchNormalization", 14, UpgradeBatchNormalization14},
    {"Cast", 6, UpgradeCast6},
    {"Clip", 11, UpgradeClip11},
    {"Concat", 4, UpgradeConcat4},
    {"DFT", 20, UpgradeDft20},
    {"Div", 7, UpgradeLegacyBroadcast},
    {"Dropout", 7, UpgradeDropout7},
    {"Dropout", 12, UpgradeDropout12},
    {"Equal", 7, UpgradeLegacyBroadcast},
    {"GRU", 7, UpgradeRecurrent7},
    {"Gemm", 7, UpgradeGemm7},
    {"GlobalLpPool", 2, UpgradeLpPool2},
    {"Greater", 7, UpgradeLegacyBroadcast},
    {"GridSample", 20, UpgradeGridSample20},
    {"GroupNormalization", 21, UpgradeGroupNormalization21},
    {"Hardmax", 13, UpgradeSoftmax13},
    {"LSTM", 7, UpgradeRecurrent7},
    {"Less", 7, UpgradeLegacyBroadcast},
    {"LogSoftmax", 13, UpgradeSoftmax13},
    {"LpPool", 2, UpgradeLpPool2},
    {"Mul", 7, UpgradeLegacyBroadcast},
    {"Or", 7, UpgradeLegacyBroadcast},
    {"PRelu", 7, UpgradePRelu7},
    {"Pad", 2, UpgradePad2},
    {"Pad", 11, UpgradePad11},
    {"Pow", 7, UpgradeLegacyBroadcast},
    {"RNN", 7, UpgradeRecurrent7},
    {"ReduceL1", 18, UpgradeAxesToInput},
    {"ReduceL2", 18, UpgradeAxesToInput},
    {"ReduceLogSum", 18, UpgradeAxesToInput},
    {"ReduceLogSum", 28, UpgradeReduceLog28},
    {"ReduceLogSumExp", 18, UpgradeAxesToInput},
    {"ReduceLogSumExp", 28, UpgradeReduceLog28},
    {"ReduceMax", 18, UpgradeAxesToInput},
    {"ReduceMean", 18, UpgradeAxesToInput},
    {"ReduceMin", 18, UpgradeAxesToInput},
    {"ReduceProd", 18, UpgradeAxesToInput},
    {"ReduceSum", 13, UpgradeAxesToInput},
    {"ReduceSumSquare", 18, UpgradeAxesToInput},
    {"Reshape", 5, UpgradeReshape5},
    {"Resize", 11, UpgradeResize11},
    {"Resize", 13, UpgradeResize13},
    {"Resize", 28, UpgradeResize28},
    {"RoiAlign", 16, UpgradeRoiAlign16},
    {"Scan", 9, UpgradeScan9},
    {"Scatter", 11, UpgradeScatter11},
    {"Selu", 6, UpgradeSelu6},
    {"Slice", 10, UpgradeSlice10},
    {"Softmax", 13, UpgradeSoftmax13},
    {"Split", 2, UpgradeSplit2},
    {"Split", 13, UpgradeSplit13},
    {"Split", 18, UpgradeSplit18},
    {"Squeeze", 13, UpgradeAxesToInput},
    {"Sub", 7, UpgradeLegacyBroadcast},
    {"Tile", 6, UpgradeTile6},
    {"TopK", 10, UpgradeTopK10},
    {"Unsqueeze", 13, UpgradeAxesToInput},
    {"Upsample", 7, UpgradeUpsample7},
    {"Upsample", 9, UpgradeUpsample9},
    {"Upsample", 10, UpgradeUpsample10},
    {"Xor", 7, UpgradeLegacyBroadcast},
};

constexpr bool Before(const UpgradeRow& a, const UpgradeRow& b) {
  return a.op != b.op ? a.op < b.op : a.version < b.version;
}
static_assert(std::is_sorted(std::begin(kSteps), std::end(kSteps), Before));

// The first step of `op` above `opset`.
const UpgradeRow* NextStep(std::string_view op, int opset) {
  const UpgradeRow* row = std::lower_bound(std::begin(kSteps), std::end(kSteps),
                                           UpgradeRow{op, opset + 1, nullptr}, Before);
  return row != std::end(kSteps) && row->op == op ? row : nullptr;
}

absl::StatusOr<std::vector<Value*>> AppendNewest(Graph& graph, ShapeInference& inference,
                                                 NodeSpec spec, size_t outputs) {
  Node& node = graph.AddNode(std::move(spec));
  RETURN_IF_ERROR(inference.Infer(node));
  std::vector<Value*> values(node.outputs().begin(), node.outputs().end());
  values.resize(outputs);
  return values;
}

}  // namespace

absl::Span<const UpgradeRow> UpgradeRows() { return kSteps; }

absl::StatusOr<Value*> Form::Append(NodeSpec node) {
  if (node.name.empty()) node.name = spec.name;
  ASSIGN_OR_RETURN(std::vector<Value*> values, AppendNode(graph, inference, std::move(node)));
  return values.front();
}

absl::Status Form::Finish(NodeSpec node) {
  node.outputs = {spec.outputs.front()};
  ASSIGN_OR_RETURN(Value * value, Append(std::move(node)));
  finished.emplace({value});
  return absl::OkStatus();
}

void Form::SetInput(size_t i, Value* value) {
  if (spec.inputs.size() <= i) spec.inputs.resize(i + 1, nullptr);
  spec.inputs[i] = value;
}

void Form::IntsToInput(std::string_view name, size_t i) {
  if (!spec.attrs.Has(name)) return;
  SetInput(i, &Ints(spec.attrs.Ints(name)));
  spec.attrs.Remove(name);
}

Value& Form::Scalar(int64_t value) {
  return graph.AddConstant(HostTensor::Of<int64_t>(DType::kI64, {}, {value}));
}
Value& Form::Scalar(float value) {
  return graph.AddConstant(HostTensor::Of<float>(DType::kF32, {}, {value}));
}

absl::Status Form::Unimplemented(std::string_view reason) const {
  return absl::UnimplementedError(
      absl::StrCat(FormOf("", spec.op, file_opset, spec.inputs), ": ", reason));
}

absl::StatusOr<std::vector<Value*>> AppendNode(Graph& graph, ShapeInference& inference,
                                               NodeSpec spec) {
  const std::string where = WhereOf(spec.op, spec.name);
  if (absl::Status status = CheckNode(spec); !status.ok()) return Annotate(status, where);
  const size_t outputs = spec.outputs.size();  // a step may remove absent ones
  if (spec.domain == kMlDomain) return AppendMlNode(graph, inference, std::move(spec));
  if (!spec.domain.empty()) return AppendNewest(graph, inference, std::move(spec), outputs);
  const int file_opset = spec.opset;
  Form form{graph, inference, std::move(spec), file_opset};
  if (file_opset < 6) form.spec.attrs.Remove("consumed_inputs");  // which memory may be reused
  while (const UpgradeRow* row = NextStep(form.spec.op, form.spec.opset)) {
    form.spec.opset = row->version;
    if (absl::Status status = row->step(form); !status.ok()) return Annotate(status, where);
    if (form.finished.has_value()) return *std::move(form.finished);
  }
  form.spec.opset = kNewestOpset;
  return AppendNewest(graph, inference, std::move(form.spec), outputs);
}

absl::StatusOr<std::vector<Value*>> AppendCustomNode(Graph& graph, ShapeInference& inference,
                                                     NodeSpec spec) {
  const size_t outputs = spec.outputs.size();
  return AppendNewest(graph, inference, std::move(spec), outputs);
}

}  // namespace onnx_cudnn
