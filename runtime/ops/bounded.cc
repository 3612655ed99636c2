#include "runtime/ops/bounded.h"

#include <algorithm>
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
std::vector<int64_t> DimsOfCompress(const Node& node) {
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
    {"Compress", DType::kUndefined, BoundOfCompress, DimsOfCompress},
    {"NonMaxSuppression", DType::kI64, BoundOfNonMaxSuppression, DimsOfNonMaxSuppression},
    {"NonZero", DType::kI64, BoundOfNonZero, DimsOfNonZero},
};

constexpr std::string_view kBounded = "Bounded";

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

template <ComputeDataDependent compute, std::vector<int64_t> (*dims_of)(const Node& node)>
absl::Status ReferenceOf(const ReferenceArgs& args) {
  std::vector<HostTensor> inputs;
  for (const TensorRef& in : args.in) {
    inputs.push_back(
        in.present()
            ? HostTensor::Borrow(in.dtype, Dims(in.dims.begin(), in.dims.end()), in.data, nullptr)
            : HostTensor());
  }
  ASSIGN_OR_RETURN(const HostTensor output, compute(args.node, inputs));
  const std::vector<int64_t> dims = dims_of(args.node);
  const int64_t counted = std::find(dims.begin(), dims.end(), -1) - dims.begin();
  if (args.has_out(0)) {
    const int64_t used = output.bytes(), bound = args.out[0].bytes();
    if (used > bound) {
      return absl::InvalidArgumentError(
          absl::StrCat("its output has ", used, " bytes, at most ", bound, " were expected"));
    }
    auto* to = static_cast<std::byte*>(args.out[0].data);
    if (used > 0) std::memcpy(to, output.raw(), used);
    if (bound > used) std::memset(to + used, 0, bound - used);
  }
  if (args.has_out(1)) args.out[1].as<int64_t>()[0] = output.dims()[counted];
  return absl::OkStatus();
}

Cost CostOfNonZero(const Node& node) {
  return {.us = ScalarUs(node.input(0).elements() / 8), .bytes = IoBytes(node)};
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
  if (!node.domain().empty()) return std::nullopt;
  const Row* row = FindRow(node.op());
  if (row == nullptr || !AllStaticNumbers(node) || !CheckOp(node)) return std::nullopt;
  const std::optional<int64_t> bound = row->bound(node);
  const DType dtype = row->dtype == DType::kUndefined ? node.input(0).dtype() : row->dtype;
  if (!bound.has_value() || *bound > kMostBoundedBytes / ElementBytes(dtype)) return std::nullopt;
  return BoundedForm{absl::StrCat(kBounded, row->op), dtype, *bound, row->dims(node)};
}

bool IsBoundedForm(const Node& node) {
  return node.domain() == kOwnDomain && node.op().starts_with(kBounded);
}

std::optional<int64_t> BoundOfForm(const Node& node) {
  const Row* row = FindRow(std::string_view(node.op()).substr(kBounded.size()));
  if (!AllStaticNumbers(node)) return std::nullopt;
  const std::optional<int64_t> bound = row->bound(node);
  const DType dtype = row->dtype == DType::kUndefined ? node.input(0).dtype() : row->dtype;
  if (!bound.has_value() || *bound > kMostBoundedBytes / ElementBytes(dtype)) return std::nullopt;
  return bound;
}

Node& ReplaceByBounded(Graph& graph, Node& node, const BoundedForm& form) {
  Value& output = node.output(0);
  const std::string domain(kOwnDomain);
  Node& bounded = graph.AddNode(
      {.op = form.op,
       .inputs = {node.inputs().begin(), node.inputs().end()},
       .attrs = node.attrs(),
       .outputs = {absl::StrCat(output.name(), "_elements"), absl::StrCat(output.name(), "_count")},
       .domain = domain,
       .name = node.name(),
       .opset = 1});
  graph.SetType(bounded.output(0), Type::Tensor(form.dtype, {form.bound}));
  graph.SetType(bounded.output(1), Type::Tensor(DType::kI64, {1}));
  // Its output has the name of the Node's, which is free once that is removed.
  const std::string name = output.name(), node_name = node.name();
  const Type type = output.type();
  graph.ReplaceAllUses(output, bounded.output(0));
  graph.Remove(node);
  Node& first = graph.AddNode({.op = "FirstElements",
                               .inputs = {nullptr, &bounded.output(1)},
                               .attrs = {{"dims", form.dims}},
                               .outputs = {name},
                               .domain = domain,
                               .name = node_name,
                               .opset = 1});
  graph.SetType(first.output(0), type);
  graph.ReplaceAllUses(bounded.output(0), first.output(0));
  graph.SetInput(first, 0, &bounded.output(0));
  return first;
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
          .reference = ReferenceOf<ComputeCompress, DimsOfCompress>,
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

OpDef FirstElementsOp() { return {.types = kMovedTypes, .evaluate = EvaluateFirstElements}; }

}  // namespace onnx_cudnn
