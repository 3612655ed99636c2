#include "runtime/kernels/norm/row_group.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/joins.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kRowTypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr size_t kMostOps = 12;
constexpr int64_t kVectorColumns = 8;
// Instructions per element of an addend where a group only scales, adds and converts, and of each
// term of other element-wise ops, whose decoding 8 elements share. Counted in the code, like those
// of the row ops; the calibration says how fast they are.
constexpr double kAddendInstructions = 4, kTermInstructions = 16;
constexpr size_t kMostAdds = 2;  // of groups that need no program

struct RowOpEntry {
  std::string_view op;
  RowOp row_op;
  double instructions;  // per element
};
constexpr RowOpEntry kRowOps[] = {{"LayerNormalization", RowOp::kLayerNorm, 18},
                                  {"RMSNormalization", RowOp::kRmsNorm, 18},
                                  {"Softmax", RowOp::kSoftmax, 20},
                                  {"LogSoftmax", RowOp::kLogSoftmax, 20},
                                  {"ReduceSum", RowOp::kSum, 6},
                                  {"ReduceMean", RowOp::kMean, 6},
                                  {"ReduceMax", RowOp::kMax, 6},
                                  {"ReduceMin", RowOp::kMin, 6},
                                  {"ReduceL1", RowOp::kL1, 6},
                                  {"ReduceL2", RowOp::kL2, 6},
                                  {"ReduceSumSquare", RowOp::kSumSquare, 6}};

constexpr Rule kOtherOps = {
    "row groups compute f32, f16 and bf16, and what chains of element-wise ops compute",
    "none: the element-wise kernel runs the node"};
constexpr Rule kKeepsOne = {"a row group keeps one value across a row op",
                            "none: the value is written and read again"};
constexpr Rule kOwnFactors = {"a row group reads the scale and the bias of a norm from memory",
                              "none: what computes them is a launch of its own"};
constexpr Rule kOneTable = {"a row group reads the rows of one table",
                            "none: the other Gather is a launch of its own"};
constexpr Rule kTwoRowOps = {
    "a row group has at most two ops on rows of one length, one of them a norm",
    "none: the other op is a launch of its own"};

const RowOpEntry* EntryOf(const Node& node) {
  if (!node.domain().empty()) return nullptr;
  const auto* entry = std::find_if(std::begin(kRowOps), std::end(kRowOps),
                                   [&](const RowOpEntry& e) { return e.op == node.op(); });
  return entry == std::end(kRowOps) ? nullptr : entry;
}

bool ReducesLastAxis(const Node& node) {
  if (!node.has_input(1) || !node.input(1).is_constant() || !node.input(0).is_static()) {
    return false;
  }
  const int rank = node.input(0).rank();
  const absl::StatusOr<std::vector<int64_t>> axes = ToInts(node.input(1).constant());
  return axes.ok() && axes->size() == 1 && NormalizedAxis(axes->front(), rank) == rank - 1;
}

bool HaveTypes(absl::Span<Value* const> values, DTypeSet types) {
  return std::all_of(values.begin(), values.end(),
                     [=](const Value* v) { return v == nullptr || types.Has(v->dtype()); });
}

// Whether the group's code computes the element-wise `node`.
bool IsInGroups(const Node& node) {
  if (!IsPointwise(node) || !CheckOperands(node)) return false;
  if (!HaveTypes(node.inputs(), kRowTypes | DTypeSet{DType::kBool})) return false;
  if (!HaveTypes(node.outputs(), kRowTypes)) return false;
  const Expression bound = BindPointwise(node);
  if (ComputeTypeOf(bound, node) != DType::kF32) return false;
  return std::all_of(bound.terms().begin(), bound.terms().end(), [](const Term& term) {
    const bool is_leaf =
        term.primitive == Primitive::kInput || term.primitive == Primitive::kConstant;
    return is_leaf || term.primitive == Primitive::kSelect || IsComputedEverywhere(term.primitive);
  });
}

// Whether `node` gathers rows of a matrix, such as an embedding's, as a tensor of `dims`.
bool IsRowGather(const Node& node, const Dims& dims) {
  if (!node.domain().empty() || node.op() != "Gather" || !CheckOp(node)) return false;
  const Value &table = node.input(0), &y = node.output(0);
  if (!table.is_static() || !y.is_static() || table.rank() != 2) return false;
  return NormalizedAxis(node.attrs().Int("axis", 0), 2) == 0 && table.elements() > 0 &&
         y.dims() == dims && kRowTypes.Has(table.dtype());
}

// Why `nodes` are no group; nullptr: they are one, as far as their values go.
const Rule* WhyNoGroup(absl::Span<const Node* const> nodes) {
  if (ComputesFactors(nodes)) return &kOwnFactors;
  return KeepsOneValue(RowGroupOf(nodes)) ? nullptr : &kKeepsOne;
}

Support TakesRows(const Node& node) {
  const Value& x = node.input(0);
  const bool is_norm = IsNorm(*RowOpOf(node));
  const size_t floats = is_norm ? node.inputs().size() : 1;  // the other inputs are axes
  if (!HaveTypes(node.inputs().first(floats), kRowTypes) || !HaveTypes(node.outputs(), kRowTypes)) {
    return Support::No("row groups compute f32, f16 and bf16");
  }
  if (!x.is_static() || x.rank() < 1 || x.rank() > kMostGroupRank || x.elements() == 0) {
    return Support::No(absl::StrCat(x.name(), " is ", ToString(x.type()), ", expected 1 to ",
                                    kMostGroupRank, " axes with elements"));
  }
  if (!IsReduction(*RowOpOf(node)) &&
      NormalizedAxis(node.attrs().Int("axis", -1), x.rank()) != x.rank() - 1) {
    return Support::No("it works along more than the last axis, or another one");
  }
  if (x.dim(x.rank() - 1) > kMostGroupColumns) {
    return Support::No(
        absl::StrCat("rows of ", x.dim(x.rank() - 1), " elements, more than ", kMostGroupColumns));
  }
  for (const Value* statistics : node.outputs().subspan(1)) {
    if (statistics == nullptr || (statistics->uses().empty() && !statistics->is_graph_output())) {
      continue;
    }
    return Support::No(absl::StrCat(statistics->name(), ", one of its statistics, is used"));
  }
  return is_norm ? TakesFactors(node) : Support::Yes();
}

// A second row op.
const Rule* JoinsAsRowOp(const RowGroup& group, const GrowthStep& step) {
  const bool fits = group.row_ops.size() < kMostRowOps && &step.edge == &step.node.input(0) &&
                    step.edge.is_static() && step.edge.dims() == group.x().dims() &&
                    CheckOp(step.node) && TakesRows(step.node);
  const bool has_two_norms = IsNorm(*RowOpOf(*group.row_ops[0])) && IsNorm(*RowOpOf(step.node));
  return fits && !has_two_norms ? nullptr : &kTwoRowOps;
}

// Element-wise, and of the dims of the edge; or it joins an element per row with whole rows.
const Rule* JoinsAsReaderOfRows(const RowGroup& group, const GrowthStep& step) {
  const Rule* no = JoinsAsReader(step);
  if (no != nullptr && step.edge.rank() == group.x().rank()) {
    no = JoinsAsReader({step.nodes, group.x(), step.node});
  }
  if (no != nullptr) return no;
  return IsInGroups(step.node) ? nullptr : &kOtherOps;
}

const Rule* JoinsBehind(const GrowthStep& step) {
  const RowGroup group = RowGroupOf(step.nodes);
  if (group.PartOf(step.edge) <= 0) return &kUnreported;
  const Rule* no =
      RowOpOf(step.node).has_value() ? JoinsAsRowOp(group, step) : JoinsAsReaderOfRows(group, step);
  if (no != nullptr) return no;
  std::vector<const Node*> nodes(step.nodes.begin(), step.nodes.end());
  nodes.push_back(&step.node);
  return WhyNoGroup(nodes);
}

const Rule* JoinsBefore(const GrowthStep& step) {
  const RowGroup group = RowGroupOf(step.nodes);
  bool leads_to_row_op = false;
  for (size_t i = 0; i < group.row_ops.size(); ++i) {
    leads_to_row_op |=
        &step.edge == &group.row_ops[i]->input(0) || IsReadByAny(step.edge, group.parts[i]);
  }
  if (!leads_to_row_op) return &kUnreported;
  const bool has_rows = step.edge.is_static() && step.edge.dims() == group.x().dims();
  if (IsRowGather(step.node, group.x().dims())) {
    if (!group.gathers.empty()) return &kOneTable;
  } else {
    // The edge is the node's output: of whole rows, as of a reader, or small.
    if (const Rule* no = has_rows ? JoinsAsReader(step) : JoinsAsProducer(step)) return no;
    if (!IsInGroups(step.node)) return &kOtherOps;
  }
  std::vector<const Node*> nodes = {&step.node};
  nodes.insert(nodes.end(), step.nodes.begin(), step.nodes.end());
  return WhyNoGroup(nodes);
}

// The row op alone; and with the Nodes back to the nearest value before it that has other readers,
// such as the sum of a residual, if the group writes it too.
std::vector<std::vector<const Node*>> CoresOf(const Node& row_op) {
  std::vector<std::vector<const Node*>> cores = {{&row_op}};
  std::vector<const Node*> nodes = {&row_op};
  const Value* value = &row_op.input(0);
  if (!value->is_static()) return cores;
  const Dims dims = value->dims();
  const Node* gather = value->producer();
  if (gather != nullptr && !value->has_one_use() && IsRowGather(*gather, dims)) {
    cores.push_back({gather, &row_op});
    return cores;
  }
  while (nodes.size() < kMostOps) {
    const Node* node = value->producer();
    if (node == nullptr || !IsInGroups(*node)) break;
    const Value& y = node->output(0);
    if (!y.is_static() || y.dims() != dims) break;
    nodes.insert(nodes.begin(), node);
    if (!y.has_one_use()) {
      cores.push_back(nodes);
      break;
    }
    if (node->inputs().size() != 1) break;
    value = &node->input(0);
  }
  return cores;
}

Support Takes(const Unit& core) {
  const RowGroup group = RowGroupOf(core.nodes);
  if (group.row_ops.empty()) return Support::No("it reduces more than the last axis, or another");
  if (ComputesFactors(core.nodes)) return Support::No(std::string(kOwnFactors.says));
  return TakesRows(*group.row_ops[0]);
}

GrowthOptions Growth(const Unit&) {
  return {.forward = JoinsBehind, .backward = JoinsBefore, .most_added = kMostOps};
}

bool IsScale(const Node& node) {
  return node.op() == "Mul" &&
         std::any_of(node.inputs().begin(), node.inputs().end(),
                     [](Value* v) { return v->is_constant() && v->elements() == 1; });
}

// Whether the group's code runs without decoding.
bool IsSum(const RowGroup& group) {
  if (group.row_ops.size() > 1) return false;
  absl::Span<const Node*const> before = group.parts[0], behind = group.parts[1];
  if (!before.empty() && IsScale(*before[0])) before.remove_prefix(1);
  const auto has_op = [](std::string_view op) {
    return [op](const Node* node) { return node->op() == op; };
  };
  return before.size() <= kMostAdds && behind.size() <= 1 &&
         std::all_of(before.begin(), before.end(), has_op("Add")) &&
         std::all_of(behind.begin(), behind.end(), has_op("Cast"));
}

double InstructionsPerElement(const RowGroup& group) {
  double instructions = 0;
  for (const Node* node : group.row_ops) instructions += EntryOf(*node)->instructions;
  if (IsSum(group)) {
    return instructions + kAddendInstructions * static_cast<double>(group.parts[0].size() + 1);
  }
  size_t terms = 0;
  for (const std::vector<const Node*>& part : group.parts) {
    for (const Node* node : part) terms += BindPointwise(*node).terms().size();
  }
  return instructions + kTermInstructions * static_cast<double>(terms + 1);
}

double ArithmeticUs(const RowGroup& group, const DeviceInfo& info) {
  const KernelCalibration& kernels = info.calibration.kernels;
  const double instructions =
      static_cast<double>(group.x().elements()) * InstructionsPerElement(group);
  const bool is_broken = group.x().dims().back() % kVectorColumns != 0;
  return instructions * (is_broken ? kernels.row_group.broken_rows : 1) /
         (kernels.arithmetic.row_group * info.f32_flops_per_us / 2);
}

double TrafficUs(int64_t bytes, const DeviceInfo& info) {
  return static_cast<double>(bytes) /
         (info.calibration.kernels.traffic.row_group * info.bytes_per_us);
}

// Bytes of tables that the group does not read.
int64_t UnreadBytes(const RowGroup& group) {
  int64_t bytes = 0;
  for (const Node* gather : group.gathers) {
    bytes += std::max<int64_t>(0, gather->input(0).bytes() - gather->output(0).bytes());
  }
  return bytes;
}

double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const DeviceInfo& info = target.info;
  const RowGroup group = RowGroupOf(unit.nodes);
  return std::max(TrafficUs(roofline.bytes - UnreadBytes(group), info), ArithmeticUs(group, info)) +
         info.launch_us + info.dependent_kernel_us;
}

// Whether decoding takes longer than the launches that the group saves, at least one per row op.
bool DecodesForLong(const Unit& unit, const DeviceInfo& info) {
  const RowGroup group = RowGroupOf(unit.nodes);
  if (IsSum(group)) return false;
  int64_t bytes = -UnreadBytes(group);
  for (const auto* values :
       {&unit.boundary.inputs, &unit.boundary.constants, &unit.boundary.outputs}) {
    for (const Value* v : *values) bytes += v->bytes();
  }
  const double saved_us = static_cast<double>(group.row_ops.size()) * info.launch_us;
  return ArithmeticUs(group, info) > TrafficUs(bytes, info) + saved_us;
}

}  // namespace

std::optional<RowOp> RowOpOf(const Node& node) {
  const RowOpEntry* entry = EntryOf(node);
  if (entry == nullptr || (IsReduction(entry->row_op) && !ReducesLastAxis(node))) {
    return std::nullopt;
  }
  return entry->row_op;
}

Support TakesFactors(const Node& norm) {
  if (norm.input(0).elements() == 0) return Support::Yes();
  const Dims x = norm.input(0).dims();
  const int64_t axis = NormalizedAxis(norm.attrs().Int("axis", -1), norm.input(0).rank());
  const absl::Span<const int64_t> row = absl::MakeConstSpan(x).subspan(axis);
  for (const Value* factor : norm.inputs().subspan(1)) {
    if (factor == nullptr || factor->elements() == 1) continue;
    const Dims all = factor->dims();
    absl::Span<const int64_t> dims = all;
    while (dims.size() > row.size() && dims.front() == 1) dims.remove_prefix(1);
    if (dims == row) continue;
    return Support::No(absl::StrCat(factor->name(), " is ", ToString(factor->type()),
                                    ", expected one element or the normalized axes ",
                                    ToString(row)));
  }
  return Support::Yes();
}

// One or two ops on the last axis (norms, softmax, reductions) with the element-wise ops before,
// between and behind them, row-major, in one launch: a part of a warp, a warp or a block per row, 8
// elements per thread, or 32 of a compiled group's long or many rows. A sum before the first op
// that others read, and results of the ops, may be further outputs. A scale and sums of up to three
// operands before one op and a Cast behind it are compiled code, other ops a program, which may
// keep one value across a row op. Rows of a table are read by their indices.
Kernel RowGroupKernel() {
  std::vector<std::string_view> ops;
  for (const RowOpEntry& entry : kRowOps) ops.push_back(entry.op);
  return {.ops = std::move(ops),
          .types = kRowTypes,
          .cores = CoresOf,
          .takes = Takes,
          .growth = Growth,
          .us = Us,
          .beyond_fit = DecodesForLong};
}

}  // namespace onnx_cudnn
