#include "runtime/ops/bounded.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/data_dependent.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/scalar_us.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kMovedTypes = kFixedSizeTypes | DTypeSet{DType::kC64, DType::kC128};
constexpr int64_t kFlopsPerOverlap = 16;

// The dims of the outputs, by op.
std::vector<int64_t> DimsOfNonZero(const Node& node) { return {node.input(0).rank(), -1}; }
std::vector<int64_t> DimsOfNonMaxSuppression(const Node&) { return {-1, 3}; }
std::vector<int64_t> DimsAlongAxis(const Node& node) {
  if (!node.attrs().Has("axis")) return {-1};
  std::vector<int64_t> dims = node.input(0).dims();
  dims[NormalizedAxis(node.attrs().Int("axis", 0), node.input(0).rank())] = -1;
  return dims;
}

struct Row {
  const char* op;
  DType dtype;  // of the output; kUndefined: that of input 0
  std::optional<int64_t> (*bound)(const Node& node);
  std::vector<int64_t> (*dims)(const Node& node);
};
constexpr Row kRows[] = {
    {"Compress", DType::kUndefined, BoundOfCompress, DimsAlongAxis},
    {"NonMaxSuppression", DType::kI64, BoundOfNonMaxSuppression, DimsOfNonMaxSuppression},
    {"NonZero", DType::kI64, BoundOfNonZero, DimsOfNonZero},
    {"Unique", DType::kUndefined, BoundOfUnique, DimsAlongAxis},
};

constexpr std::string_view kBounded = "Bounded";

constexpr size_t kInverse = 2;  // the output of a Unique whose shape is known

// The place of an op's output among those of its form, where the count is the second.
size_t PlaceInForm(size_t output) { return output == 0 ? 0 : output + 1; }

const Row* FindRow(std::string_view op) {
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return op == r.op; });
  return row == std::end(kRows) ? nullptr : row;
}

bool AllStaticNumbers(const Node& node) {
  return std::all_of(node.inputs().begin(), node.inputs().end(), [](const Value* v) {
    return v == nullptr || (v->is_static() && BitsOf(v->dtype()) >= 8);
  });
}

// The form of a Node that is of the op of `row` or is its form already.
std::optional<BoundedForm> FormBy(const Row& row, const Node& node) {
  if (!AllStaticNumbers(node)) return std::nullopt;
  const std::optional<int64_t> bound = row.bound(node);
  const DType dtype = row.dtype == DType::kUndefined ? node.input(0).dtype() : row.dtype;
  const int64_t slices = std::string_view(row.op) == "Unique" ? SlicesOfUnique(node).extent : 0;
  if (!bound.has_value() || *bound > kMostBoundedBytes / ElementBytes(dtype) ||
      slices > kMostBoundedBytes / ElementBytes(DType::kI64)) {
    return std::nullopt;
  }
  return BoundedForm{absl::StrCat(kBounded, row.op), dtype, *bound, row.dims(node), slices};
}

std::vector<HostTensor> InputsOf(const ReferenceArgs& args) {
  std::vector<HostTensor> inputs;
  for (const TensorRef& in : args.in) {
    inputs.push_back(
        in.present()
            ? HostTensor::Borrow(in.dtype, Dims(in.dims.begin(), in.dims.end()), in.data, nullptr)
            : HostTensor());
  }
  return inputs;
}

// Writes `elements`, then zeros, to output `i` if it is wanted.
absl::Status WriteFirst(const ReferenceArgs& args, size_t i, const HostTensor& elements) {
  if (!args.has_out(i)) return absl::OkStatus();
  const int64_t used = elements.bytes(), bound = args.out[i].bytes();
  if (used > bound) {
    return absl::InvalidArgumentError(
        absl::StrCat("its output has ", used, " bytes, at most ", bound, " were expected"));
  }
  auto* to = static_cast<std::byte*>(args.out[i].data);
  if (used > 0) std::memcpy(to, elements.raw(), used);
  if (bound > used) std::memset(to + used, 0, bound - used);
  return absl::OkStatus();
}

void WriteCount(const ReferenceArgs& args, const HostTensor& output,
                const std::vector<int64_t>& dims) {
  const int64_t counted = std::find(dims.begin(), dims.end(), -1) - dims.begin();
  if (args.has_out(1)) args.out[1].as<int64_t>()[0] = output.dims()[counted];
}

template <ComputeDataDependent compute, std::vector<int64_t> (*dims_of)(const Node& node)>
absl::Status ReferenceOf(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const HostTensor output, compute(args.node, InputsOf(args)));
  RETURN_IF_ERROR(WriteFirst(args, 0, output));
  WriteCount(args, output, dims_of(args.node));
  return absl::OkStatus();
}

absl::Status ReferenceOfUnique(const ReferenceArgs& args) {
  const std::vector<HostTensor> outputs = ComputeUnique(args.node, InputsOf(args)[0]);
  for (size_t i = 0; i < outputs.size(); ++i) {
    RETURN_IF_ERROR(WriteFirst(args, PlaceInForm(i), outputs[i]));
  }
  WriteCount(args, outputs[0], DimsAlongAxis(args.node));
  return absl::OkStatus();
}

Cost CostOfNonZero(const Node& node) {
  return {.us = ScalarUs(node.input(0).elements() / 8), .bytes = IoBytes(node)};
}
Cost CostOfUnique(const Node& node) {
  const int64_t slices = SlicesOfUnique(node).extent;
  const int64_t rounds = std::bit_width(static_cast<uint64_t>(slices));
  return {.us = ScalarUs(slices * rounds), .bytes = IoBytes(node)};
}
Cost CostOfCompress(const Node& node) {
  return {.us = ScalarUs(node.input(1).elements()), .bytes = IoBytes(node)};
}
// Boxes are sorted by score; about twice as many as are selected are compared with those.
Cost CostOfNonMaxSuppression(const Node& node) {
  const Dims scores = node.input(1).dims();
  const int64_t rows = scores[0] * scores[1], boxes = scores[2];
  const int64_t most = rows == 0 ? 0 : node.output(0).elements() / 3 / rows;
  return {.flops = rows * kFlopsPerOverlap * (boxes + most * most), .bytes = IoBytes(node)};
}

void SetTypes(Graph& graph, Node& bounded, const BoundedForm& form) {
  const auto set = [&](int i, DType dtype, int64_t extent) {
    if (bounded.has_output(i)) graph.SetType(bounded.output(i), Type::Tensor(dtype, {extent}));
  };
  set(0, form.dtype, form.bound);
  set(1, DType::kI64, 1);
  for (int i = 2; i < std::ssize(bounded.outputs()); ++i) set(i, DType::kI64, form.slices);
}

// An output of a Node that is replaced, whose elements its form computes.
struct OpenOutput {
  std::string name;  // free once the Node is removed
  Type type;
  std::vector<int64_t> dims;  // -1 where the count stands
  Value* elements;            // used instead of the output
};

Node& AddFirstElements(Graph& graph, const OpenOutput& output, Value& count,
                       const std::string& node_name) {
  Node& first = graph.AddNode({.op = "FirstElements",
                               .inputs = {nullptr, &count},
                               .attrs = {{"dims", output.dims}},
                               .outputs = {output.name},
                               .domain = std::string(kOwnDomain),
                               .name = node_name,
                               .opset = 1});
  graph.SetType(first.output(0), output.type);
  graph.ReplaceAllUses(*output.elements, first.output(0));
  graph.SetInput(first, 0, output.elements);
  return first;
}

absl::StatusOr<std::vector<HostTensor>> EvaluateFirstElements(const Node& node) {
  const HostTensor& elements = node.input(0).constant();
  const HostTensor& count = node.input(1).constant();
  ASSIGN_OR_RETURN(Dims dims, DimsOfFirst(node, count.data<int64_t>()[0], elements.elements()));
  HostTensor first = HostTensor::Allocate(elements.dtype(), std::move(dims));
  if (first.bytes() > 0) std::memcpy(first.mutable_raw(), elements.raw(), first.bytes());
  return std::vector<HostTensor>{std::move(first)};
}

}  // namespace

std::optional<BoundedForm> BoundedFormOf(const Node& node) {
  if (!node.domain().empty() || !node.has_output(0)) return std::nullopt;
  const Row* row = FindRow(node.op());
  if (row == nullptr || !AllStaticNumbers(node) || !CheckOp(node)) return std::nullopt;
  return FormBy(*row, node);
}

bool IsBoundedForm(const Node& node) {
  return node.domain() == kOwnDomain && node.op().starts_with(kBounded);
}

bool SetBoundedTypes(Graph& graph, Node& bounded) {
  const Row* row = FindRow(std::string_view(bounded.op()).substr(kBounded.size()));
  const std::optional<BoundedForm> form = FormBy(*row, bounded);
  if (form.has_value()) SetTypes(graph, bounded, *form);
  return form.has_value();
}

BoundedNodes ReplaceByBounded(Graph& graph, Node& node, const BoundedForm& form) {
  std::vector<std::string> names;
  for (const Value* v : node.outputs()) {
    names.push_back(v == nullptr ? "" : absl::StrCat(v->name(), "_elements"));
  }
  names.insert(names.begin() + 1, absl::StrCat(node.output(0).name(), "_count"));
  Node& bounded = graph.AddNode({.op = form.op,
                                 .inputs = {node.inputs().begin(), node.inputs().end()},
                                 .attrs = node.attrs(),
                                 .outputs = std::move(names),
                                 .domain = std::string(kOwnDomain),
                                 .name = node.name(),
                                 .opset = 1});
  SetTypes(graph, bounded, form);
  std::vector<OpenOutput> open;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.outputs()[i] == nullptr) continue;
    Value &output = *node.outputs()[i], &elements = *bounded.outputs()[PlaceInForm(i)];
    const bool is_used = !output.uses().empty() || output.is_graph_output();
    if (is_used && i != kInverse) {
      open.push_back({.name = output.name(),
                      .type = output.type(),
                      .dims = i == 0 ? form.dims : std::vector<int64_t>{-1},
                      .elements = &elements});
    }
    graph.ReplaceAllUses(output, elements);
  }
  BoundedNodes nodes{.bounded = &bounded, .firsts = {}};
  const std::string node_name = node.name();
  graph.Remove(node);
  for (const OpenOutput& output : open) {
    nodes.firsts.push_back(&AddFirstElements(graph, output, bounded.output(1), node_name));
  }
  return nodes;
}

bool IsFirstElements(const Node& node) {
  return node.domain() == kOwnDomain && node.op() == "FirstElements";
}

absl::StatusOr<Dims> DimsOfFirst(const Node& node, int64_t count, int64_t elements) {
  Dims dims = node.attrs().Ints("dims");
  std::replace(dims.begin(), dims.end(), int64_t{-1}, count);
  const absl::StatusOr<int64_t> bytes = CheckedBytes(DType::kU8, dims);
  if (bytes.ok() && *bytes <= elements) return dims;
  return absl::InvalidArgumentError(absl::StrCat("count ", count, " gives ",
                                                 ToString(absl::MakeConstSpan(dims)), " of ",
                                                 elements, " elements"));
}

OpDef BoundedCompressOp() {
  return {.types = kMovedTypes,
          .check = CheckCompress,
          .reference = ReferenceOf<ComputeCompress, DimsAlongAxis>,
          .cost = CostOfCompress};
}

OpDef BoundedNonMaxSuppressionOp() {
  return {.types = {DType::kF32},
          .check = CheckNonMaxSuppression,
          .reference = ReferenceOf<ComputeNonMaxSuppression, DimsOfNonMaxSuppression>,
          .cost = CostOfNonMaxSuppression};
}

OpDef BoundedNonZeroOp() {
  return {.types = kMovedTypes,
          .reference = ReferenceOf<ComputeNonZero, DimsOfNonZero>,
          .cost = CostOfNonZero};
}

OpDef BoundedUniqueOp() {
  return {.types = kFixedSizeTypes,
          .check = CheckUnique,
          .reference = ReferenceOfUnique,
          .cost = CostOfUnique};
}

OpDef FirstElementsOp() { return {.types = kMovedTypes, .evaluate = EvaluateFirstElements}; }

}  // namespace onnx_cudnn
