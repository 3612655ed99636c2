#include "passes/rewrite/utils/row_moves.h"

#include <algorithm>
#include <limits>

#include "passes/rewrite/utils/permutation.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostNodes = 64;

bool IsMovable(const Value& value) {
  return !value.is_constant() && value.is_static() && value.rank() > 0 && value.elements() > 0;
}

int64_t ColumnsOf(const Value& value) { return value.dim(value.rank() - 1); }

bool HasConstantsBehind(const Node& node) {
  for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i) {
    if (node.has_input(i) && !node.input(i).is_constant()) return false;
  }
  return true;
}

// Whether a Slice, whose other inputs are constants, leaves the last axis as it is.
bool SlicesRows(const Node& slice) {
  const int rank = slice.input(0).rank();
  if (!slice.has_input(3)) return static_cast<int>(IntsAt(slice, 1).size()) < rank;
  const std::vector<int64_t> axes = IntsAt(slice, 3);
  return std::none_of(axes.begin(), axes.end(),
                      [&](int64_t axis) { return NormalizedAxis(axis, rank) == rank - 1; });
}

// Whether the rows of the output, or parts of them, are rows of the inputs.
bool MovesRows(const Node& node) {
  if (!node.domain().empty() || node.outputs().size() != 1 || !IsMovable(node.output(0))) {
    return false;
  }
  const auto& inputs = node.inputs();
  if (node.op() == "Concat") {
    return std::all_of(inputs.begin(), inputs.end(), [](const Value* v) { return IsMovable(*v); });
  }
  const Value& y = node.output(0);
  if (inputs.empty() || !IsMovable(node.input(0)) || !HasConstantsBehind(node)) return false;
  if (TraitsOf(node).keeps_bytes) return ColumnsOf(y) % ColumnsOf(node.input(0)) == 0;
  if (node.op() == "Slice") return SlicesRows(node);
  if (node.op() != "Transpose") return false;
  const std::optional<std::vector<int64_t>> perm = PermOf(node);
  return perm.has_value() && perm->back() == node.input(0).rank() - 1;
}

// Collects the Nodes before a Value, which must all begin at one.
class Collector {
 public:
  bool Add(Value& value) {
    Node* node = value.producer();
    if (node == nullptr || !MovesRows(*node)) {
      const bool is_first = source_ == nullptr;
      if (is_first) source_ = &value;
      return source_ == &value;
    }
    if (std::find(nodes_.begin(), nodes_.end(), node) != nodes_.end()) return true;
    if (++visited_ > kMostNodes) return false;
    const size_t count = node->op() == "Concat" ? node->inputs().size() : 1;
    for (size_t i = 0; i < count; ++i) {
      if (!Add(node->input(static_cast<int>(i)))) return false;
    }
    nodes_.push_back(node);
    return true;
  }

  Value* source() const { return source_; }
  std::vector<Node*>& nodes() { return nodes_; }

 private:
  Value* source_ = nullptr;
  std::vector<Node*> nodes_;
  size_t visited_ = 0;
};

// Whether only `moves` read what is between its ends.
bool IsAlone(const RowMoves& moves) {
  const auto is_inside = [&](const Use& use) {
    return std::find(moves.nodes.begin(), moves.nodes.end(), use.node) != moves.nodes.end();
  };
  return std::all_of(moves.nodes.begin(), moves.nodes.end(), [&](const Node* node) {
    const Value& y = node->output(0);
    if (&y == moves.result) return true;
    return !y.is_graph_output() && std::all_of(y.uses().begin(), y.uses().end(), is_inside);
  });
}

// The dims of `value` if a row of `columns` were one element.
Dims DimsOfRows(const Value& value, int64_t columns) {
  Dims dims = value.dims();
  dims.back() /= columns;
  return dims;
}

}  // namespace

std::optional<RowMoves> RowMovesBefore(Value& result) {
  Collector collector;
  if (!collector.Add(result) || collector.nodes().empty()) return std::nullopt;
  RowMoves moves{collector.source(), &result, std::move(collector.nodes())};
  if (!IsMovable(*moves.source) || !IsAlone(moves)) return std::nullopt;
  return moves;
}

absl::StatusOr<HostTensor> RowNumbers(const RowMoves& moves) {
  const int64_t columns = moves.columns(), rows = moves.source->elements() / columns;
  if (rows > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError("more rows than an i32 counts");
  }
  // The same Nodes on the numbers of the rows.
  Graph graph;
  ValueCopies copies;
  const Dims source = DimsOfRows(*moves.source, columns);
  copies[moves.source] = &graph.AddInput("rows", Type::Tensor(DType::kI32, source));
  for (const Node* node : moves.nodes) {
    const Value& y = node->output(0);
    const Dims dims = DimsOfRows(y, columns);
    if (TraitsOf(*node).keeps_bytes) {
      Value& shape =
          graph.AddConstant(HostTensor::Ints(std::vector<int64_t>(dims.begin(), dims.end())));
      Node& reshape =
          graph.AddNode({.op = "Reshape", .inputs = {copies.at(&node->input(0)), &shape}});
      copies[&y] = &reshape.output(0);
    } else {
      CopyNodes({node}, graph, copies);
    }
    graph.SetType(*copies.at(&y), Type::Tensor(DType::kI32, dims));
  }
  graph.AddOutput("numbers", *copies.at(moves.result));
  HostTensor numbers = HostTensor::Allocate(DType::kI32, source);
  for (int64_t i = 0; i < rows; ++i) {
    numbers.mutable_data<int32_t>()[i] = static_cast<int32_t>(i);
  }
  ASSIGN_OR_RETURN(std::vector<HostTensor> results, Evaluate(graph, {numbers}));
  return std::move(results[0]);
}

}  // namespace onnx_cudnn
