#include "runtime/kernels/norm/row_group.h"

#include <algorithm>

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
// Instructions per element: of the norm, of an addend where a group only adds and converts, and of
// each term of other element-wise ops, whose decoding 8 elements share. Counted in the code, not
// measured.
constexpr double kNormInstructions = 18, kAddendInstructions = 4, kTermInstructions = 8;
constexpr size_t kMostAdds = 2;  // of groups that need no program

constexpr Rule kOtherOps = {
    "row groups compute f32, f16 and bf16, and what chains of element-wise ops compute",
    "none: the element-wise kernel runs the node"};
constexpr Rule kReadTwice = {
    "the node reads a value from before the norm, which the group does not keep",
    "none: the value is written and read again"};

constexpr Rule kOneTable = {"a row group reads the rows of one table",
                            "none: the other Gather is a launch of its own"};

bool IsNorm(const Node& node) {
  return node.domain().empty() &&
         (node.op() == "LayerNormalization" || node.op() == "RMSNormalization");
}

bool HaveRowTypes(absl::Span<Value* const> values) {
  return std::all_of(values.begin(), values.end(),
                     [](const Value* v) { return v == nullptr || kRowTypes.Has(v->dtype()); });
}

// Whether the group's code computes the element-wise `node`.
bool IsInGroups(const Node& node) {
  if (!IsPointwise(node) || !CheckOperands(node)) return false;
  if (!HaveRowTypes(node.inputs()) || !HaveRowTypes(node.outputs())) return false;
  const Expression bound = BindPointwise(node);
  if (ComputeTypeOf(bound, node) != DType::kF32) return false;
  return std::all_of(bound.terms().begin(), bound.terms().end(), [](const Term& term) {
    const bool is_leaf =
        term.primitive == Primitive::kInput || term.primitive == Primitive::kConstant;
    return is_leaf || IsComputedEverywhere(term.primitive);
  });
}

// Whether `node` gathers rows of a matrix, such as an embedding's, as a tensor of `dims`.
bool IsRowGather(const Node& node, const Dims& dims) {
  if (!node.domain().empty() || node.op() != "Gather" || !CheckOp(node)) return false;
  const Value &table = node.input(0), &y = node.output(0);
  if (!table.is_static() || !y.is_static() || table.rank() != 2) return false;
  return NormalizedAxis(node.attrs().Int("axis", 0), 2) == 0 && table.elements() > 0 &&
         y.dims() == dims && HaveRowTypes({node.inputs().data(), 1});
}

bool IsReadByAny(const Value& value, const std::vector<const Node*>& nodes) {
  return std::any_of(value.uses().begin(), value.uses().end(),
                     [&](const Use& use) { return Contains(nodes, use.node); });
}

const Rule* JoinsBehind(const GrowthStep& step) {
  const RowGroup group = RowGroupOf(step.nodes);
  const Node* from = step.edge.producer();
  if (from != group.norm && !Contains(group.behind, from)) return &kUnreported;
  if (const Rule* no = JoinsAsReader(step)) return no;
  if (!IsInGroups(step.node)) return &kOtherOps;
  for (const Value* input : step.node.inputs()) {
    if (input != nullptr && Contains(group.before, input->producer())) return &kReadTwice;
  }
  return nullptr;
}

const Rule* JoinsBefore(const GrowthStep& step) {
  const RowGroup group = RowGroupOf(step.nodes);
  const bool leads_to_norm =
      &step.edge == &group.norm->input(0) || IsReadByAny(step.edge, group.before);
  if (!leads_to_norm) return &kUnreported;
  if (IsRowGather(step.node, group.norm->input(0).dims())) {
    if (!group.gathers.empty()) return &kOneTable;
    return IsReadByAny(step.edge, group.behind) ? &kReadTwice : nullptr;
  }
  if (const Rule* no = JoinsAsProducer(step)) return no;
  if (!IsInGroups(step.node)) return &kOtherOps;
  return IsReadByAny(step.edge, group.behind) ? &kReadTwice : nullptr;
}

// The norm alone; and with the Nodes back to the nearest value before it that has other readers,
// such as the sum of a residual, if the group writes it too.
std::vector<std::vector<const Node*>> CoresOf(const Node& norm) {
  std::vector<std::vector<const Node*>> cores = {{&norm}};
  std::vector<const Node*> nodes = {&norm};
  const Value* value = &norm.input(0);
  const Node* gather = value->producer();
  if (gather != nullptr && value->is_static() && !value->has_one_use() &&
      IsRowGather(*gather, value->dims())) {
    cores.push_back({gather, &norm});
    return cores;
  }
  while (nodes.size() < kMostOps) {
    const Node* node = value->producer();
    if (node == nullptr || !IsInGroups(*node)) break;
    const Value& y = node->output(0);
    if (!y.is_static() || !norm.input(0).is_static() || y.dims() != norm.input(0).dims()) break;
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
  const Node& norm = *RowGroupOf(core.nodes).norm;
  const Value& x = norm.input(0);
  if (!HaveRowTypes(norm.inputs()) || !HaveRowTypes(norm.outputs())) {
    return Support::No("row groups compute f32, f16 and bf16");
  }
  if (x.rank() < 1 || x.rank() > kMostGroupRank || x.elements() == 0) {
    return Support::No(absl::StrCat(x.name(), " is ", ToString(x.type()), ", expected 1 to ",
                                    kMostGroupRank, " axes with elements"));
  }
  if (NormalizedAxis(norm.attrs().Int("axis", -1), x.rank()) != x.rank() - 1) {
    return Support::No("it normalizes more than the last axis");
  }
  if (x.dim(x.rank() - 1) > kMostGroupColumns) {
    return Support::No(
        absl::StrCat("rows of ", x.dim(x.rank() - 1), " elements, more than ", kMostGroupColumns));
  }
  for (const Value* statistics : norm.outputs().subspan(1)) {
    if (statistics == nullptr || (statistics->uses().empty() && !statistics->is_graph_output())) {
      continue;
    }
    return Support::No(absl::StrCat(statistics->name(), ", one of its statistics, is used"));
  }
  return TakesFactors(norm);
}

GrowthOptions Growth(const Unit&) {
  return {.forward = JoinsBehind, .backward = JoinsBefore, .most_added = kMostOps};
}

// Whether the group's code runs without decoding.
bool IsSum(const RowGroup& group) {
  const auto has_op = [](std::string_view op) {
    return [op](const Node* node) { return node->op() == op; };
  };
  return group.before.size() <= kMostAdds && group.behind.size() <= 1 &&
         std::all_of(group.before.begin(), group.before.end(), has_op("Add")) &&
         std::all_of(group.behind.begin(), group.behind.end(), has_op("Cast"));
}

double InstructionsPerElement(const RowGroup& group) {
  if (IsSum(group)) {
    return kNormInstructions + kAddendInstructions * static_cast<double>(group.before.size() + 1);
  }
  size_t terms = 0;
  for (const auto* nodes : {&group.before, &group.behind}) {
    for (const Node* node : *nodes) terms += BindPointwise(*node).terms().size();
  }
  return kNormInstructions + kTermInstructions * static_cast<double>(terms + 1);
}

double ArithmeticUs(const RowGroup& group, const DeviceInfo& info) {
  const double instructions =
      static_cast<double>(group.norm->input(0).elements()) * InstructionsPerElement(group);
  return instructions / (info.calibration.kernels.arithmetic.row_group * info.f32_flops_per_us / 2);
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

// Whether decoding takes longer than the launch that the group saves.
bool DecodesForLong(const Unit& unit, const DeviceInfo& info) {
  const RowGroup group = RowGroupOf(unit.nodes);
  if (IsSum(group)) return false;
  int64_t bytes = -UnreadBytes(group);
  for (const auto* values :
       {&unit.boundary.inputs, &unit.boundary.constants, &unit.boundary.outputs}) {
    for (const Value* v : *values) bytes += v->bytes();
  }
  return ArithmeticUs(group, info) > TrafficUs(bytes, info) + info.launch_us;
}

}  // namespace

RowGroup RowGroupOf(absl::Span<const Node* const> nodes) {
  RowGroup group;
  for (const Node* node : nodes) {
    if (IsNorm(*node)) group.norm = node;
  }
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (*node == group.norm) continue;
    const Value& y = (*node)->output(0);
    const bool is_before = &y == &group.norm->input(0) || IsReadByAny(y, group.before);
    std::vector<const Node*>& part = (*node)->op() == "Gather" ? group.gathers
                                     : is_before               ? group.before
                                                               : group.behind;
    part.insert(part.begin(), *node);
  }
  return group;
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

// A LayerNormalization or RMSNormalization of the last axis with the element-wise ops before and
// behind it, row-major, in one launch: a part of a warp, a warp or a block per row, 8 elements per
// thread. A sum before the norm that others read, and the norm itself, may be further outputs. Sums
// of up to three operands before it and a Cast behind it are compiled code, other ops a program.
// Rows of a table are read by their indices.
Kernel RowGroupKernel() {
  return {.ops = {"LayerNormalization", "RMSNormalization"},
          .types = kRowTypes,
          .cores = CoresOf,
          .takes = Takes,
          .growth = Growth,
          .us = Us,
          .beyond_fit = DecodesForLong};
}

}  // namespace onnx_cudnn
