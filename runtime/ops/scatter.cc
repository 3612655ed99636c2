// ScatterElements and ScatterND: input 0 with some elements replaced by, or combined with, updates,
// in the order of the updates.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

std::string ReductionOf(const Node& node) { return node.attrs().String("reduction", "none"); }

Support CheckReduction(const Node& node) {
  const std::string reduction = ReductionOf(node);
  if (node.input(2).dtype() != node.input(0).dtype())
    return Support::No("updates have another type");
  if (reduction == "none") return Support::Yes();
  if (reduction != "add" && reduction != "mul" && reduction != "max" && reduction != "min") {
    return Support::No(absl::StrCat("reduction \"", reduction, "\" is unknown"));
  }
  if (kNumberTypes.Has(node.input(0).dtype())) return Support::Yes();
  return Support::No(absl::StrCat("reduction \"", reduction, "\" needs numbers"));
}

Support CheckScatterElements(const Node& node) {
  if (Support axis = CheckAxis(node.attrs().Int("axis", 0), node.input(0).rank()); !axis)
    return axis;
  return CheckReduction(node);
}

template <typename T>
T Join(char reduction, T a, T b) {
  using U = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;  // integers wrap
  switch (reduction) {
    case 'a':
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case 'm':
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case '>':
      return a > b || a != a ? a : b;
    default:
      return a < b || a != a ? a : b;
  }
}

// Combines row r of the updates with output row rows[r]; a row has `row` elements.
void JoinRows(const std::string& reduction, DType dtype, const void* updates,
              absl::Span<const int64_t> rows, int64_t row, void* out) {
  const char kind = reduction == "add"   ? 'a'
                    : reduction == "mul" ? 'm'
                    : reduction == "max" ? '>'
                                         : '<';
  VisitElementType(dtype, [&](auto element) {
    using E = decltype(element);
    using T = NumberOf<E>;
    const E* from = static_cast<const E*>(updates);
    for (int64_t at : rows) {
      E* to = static_cast<E*>(out) + at * row;
      for (int64_t i = 0; i < row; ++i, ++from)
        to[i] = Narrow<E>(Join<T>(kind, Widen<T>(to[i]), Widen<T>(*from)));
    }
  });
}

void ReplaceRows(int element_bytes, const void* updates, absl::Span<const int64_t> rows,
                 int64_t row, void* out) {
  VisitElementSize(element_bytes, [&](auto element) {
    using E = decltype(element);
    const E* from = static_cast<const E*>(updates);
    for (int64_t at : rows) {
      std::copy_n(from, row, static_cast<E*>(out) + at * row);
      from += row;
    }
  });
}

// The output is a copy of input 0; its rows of `row` elements are updated one after the other,
// since rows may repeat.
absl::Status Scatter(const ReferenceArgs& args, absl::Span<const int64_t> rows, int64_t row) {
  const TensorRef &data = args.in[0], &updates = args.in[2];
  const std::string reduction = ReductionOf(args.node);
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, data.dims));
  CopyBytes(data.data, args.out[0].data, data.bytes(), args.threads);
  if (reduction == "none") {
    ReplaceRows(ElementBytes(data.dtype), updates.data, rows, row, args.out[0].data);
  } else {
    JoinRows(reduction, data.dtype, updates.data, rows, row, args.out[0].data);
  }
  return absl::OkStatus();
}

absl::Status ReferenceScatterElements(const ReferenceArgs& args) {
  const TensorRef &data = args.in[0], &indices = args.in[1];
  const int64_t rank = data.dims.size();
  const int64_t axis = NormalizedAxis(args.node.attrs().Int("axis", 0), rank);
  RETURN_IF_ERROR(ExpectDims("updates", args.in[2].dims, indices.dims));
  bool fits = static_cast<int64_t>(indices.dims.size()) == rank;
  for (int64_t a = 0; fits && a < rank; ++a) fits = a == axis || indices.dims[a] <= data.dims[a];
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("indices ", ToString(indices.dims), " exceed ",
                                                   ToString(data.dims), " beside axis ", axis));
  }
  ASSIGN_OR_RETURN(std::vector<int64_t> at, CheckedIndices(indices, data.dims[axis], axis));
  const std::vector<int64_t> strides = RowMajorStrides(data.dims);
  for (int64_t i = 0; i < static_cast<int64_t>(at.size()); ++i) {
    at[i] *= strides[axis];
    for (int64_t a = rank - 1, rest = i; a >= 0; rest /= indices.dims[a--]) {
      if (a != axis) at[i] += rest % indices.dims[a] * strides[a];
    }
  }
  return Scatter(args, at, 1);
}

absl::Status ReferenceScatterND(const ReferenceArgs& args) {
  const TensorRef &data = args.in[0], &indices = args.in[1];
  const int64_t depth = indices.dims.empty() ? 0 : indices.dims.back();
  if (depth < 1 || depth > static_cast<int64_t>(data.dims.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices of ", depth, " coordinates for rank ", data.dims.size()));
  }
  const absl::Span<const int64_t> row_dims = data.dims.subspan(depth);
  Dims dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.insert(dims.end(), row_dims.begin(), row_dims.end());
  RETURN_IF_ERROR(ExpectDims("updates", args.in[2].dims, dims));
  const std::vector<int64_t> coordinates = IntsOf(indices);
  std::vector<int64_t> rows(coordinates.size() / depth, 0);
  for (size_t i = 0; i < coordinates.size(); ++i) {
    const int64_t axis = i % depth;
    ASSIGN_OR_RETURN(const int64_t index, CheckedIndex(coordinates[i], data.dims[axis], axis));
    int64_t& at = rows[i / depth];
    at = at * data.dims[axis] + index;
  }
  return Scatter(args, rows, ElementsOf(row_dims));
}

// Computes `rows` positions in `steps` steps each.
Cost CostOfUpdates(const Node& node, int64_t rows, int64_t steps) {
  return {.us = ScalarUs(rows * steps), .bytes = IoBytes(node)};
}

Cost ScatterElementsCost(const Node& node) {
  return CostOfUpdates(node, node.input(2).elements(), 1 + node.input(2).rank());
}

Cost ScatterNDCost(const Node& node) {
  const Value& indices = node.input(1);
  const int64_t depth = std::max<int64_t>(1, indices.dim(indices.rank() - 1));
  return CostOfUpdates(node, indices.elements() / depth, 1 + depth);
}

}  // namespace

OpDef ScatterElementsOp() {
  return {.types = kMovableTypes,
          .check = CheckScatterElements,
          .reference = ReferenceScatterElements,
          .cost = ScatterElementsCost,
          .traits = {.updates = true, .axis = AxisRange::kDims}};
}
OpDef ScatterNDOp() {
  return {.types = kMovableTypes,
          .check = CheckReduction,
          .reference = ReferenceScatterND,
          .cost = ScatterNDCost,
          .traits = {.updates = true}};
}

}  // namespace onnx_cudnn
