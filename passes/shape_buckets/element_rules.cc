// Scalars and vectors of integers that are computed from lengths: sizes, positions, and the
// conditions on them.
#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/shape_buckets/rules.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

using Elements = std::vector<Affine>;
using Found = std::optional<Elements>;

constexpr int64_t kMostElements = 64;
// Larger numbers are marks ("to the end"), and products of them may overflow.
constexpr int64_t kMostNumber = int64_t{1} << 31;

bool IsSmall(const Affine& a) {
  const auto small = [](int64_t n) { return n <= kMostNumber && n >= -kMostNumber; };
  return small(a.constant()) && std::all_of(a.factors().begin(), a.factors().end(),
                                            [&](const auto& f) { return small(f.second); });
}

std::optional<Affine> Bool(bool holds) { return Affine(holds ? 1 : 0); }

// The comparison of 0 with a difference between `least` and `most`.
std::optional<Affine> Compare(std::string_view op, int64_t least, int64_t most) {
  if (op == "Equal") {
    if (least > 0 || most < 0) return Bool(false);
    if (least == 0 && most == 0) return Bool(true);
  } else if (op == "Less" || op == "GreaterOrEqual") {
    if (most < 0) return Bool(op == "Less");
    if (least >= 0) return Bool(op != "Less");
  } else if (op == "Greater" || op == "LessOrEqual") {
    if (least > 0) return Bool(op == "Greater");
    if (most <= 0) return Bool(op != "Greater");
  }
  return std::nullopt;
}

// Whether a is the larger one of two lengths where that depends on the Run: as in the Run that the
// Graph is padded for. A cache either grows by each key or has room for all of them.
bool IsLargerInRun(Padder& padder, const Affine& a, const Affine& b) {
  const Affine difference = a - b;
  const bool is_larger = difference.At(padder.lengths().numbers) >= 0;
  padder.RequireNotNegative(is_larger ? difference : difference.Times(-1));
  return is_larger;
}

std::optional<Affine> Binary(Padder& padder, std::string_view op, const Affine& a,
                             const Affine& b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return Affine::Product(a, b);
  if (op == "Div") {
    if (!b.is_constant() || b.constant() <= 0) return std::nullopt;
    return a.DividedBy(b.constant());
  }
  if (op == "And" || op == "Or") {
    if (!a.is_constant() || !b.is_constant()) return std::nullopt;
    const bool x = a.constant() != 0, y = b.constant() != 0;
    return Bool(op == "And" ? x && y : x || y);
  }
  const Affine difference = a - b;
  const int64_t least = difference.Least(padder.lengths().most);
  const int64_t most = difference.Most(padder.lengths().most);
  if (op == "Min" || op == "Max") {
    if (most <= 0) return op == "Min" ? a : b;
    if (least >= 0) return op == "Min" ? b : a;
    if (a.is_constant() || b.is_constant()) return std::nullopt;
    return IsLargerInRun(padder, a, b) == (op == "Max") ? a : b;
  }
  return Compare(op, least, most);
}

const Affine& Broadcast(const Elements& elements, size_t i) {
  return elements.size() == 1 ? elements[0] : elements[i];
}

Found Pairwise(Padder& padder, const Node& node, const std::vector<Elements>& in) {
  if (in.size() != 2) return std::nullopt;
  const size_t count = std::max(in[0].size(), in[1].size());
  if (in[0].empty() || in[1].empty()) return std::nullopt;
  Elements result;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Affine> element =
        Binary(padder, node.op(), Broadcast(in[0], i), Broadcast(in[1], i));
    if (!element.has_value()) return std::nullopt;
    result.push_back(*element);
  }
  return result;
}

Found Select(const std::vector<Elements>& in) {
  Elements result;
  const size_t count = std::max({in[0].size(), in[1].size(), in[2].size()});
  for (const Elements& elements : in) {
    if (elements.empty()) return std::nullopt;
  }
  for (size_t i = 0; i < count; ++i) {
    const Affine& condition = Broadcast(in[0], i);
    const Affine &x = Broadcast(in[1], i), &y = Broadcast(in[2], i);
    if (!condition.is_constant() && x != y) return std::nullopt;
    result.push_back(condition.constant() != 0 ? x : y);
  }
  return result;
}

Found Gathered(const Node& node, const std::vector<Elements>& in) {
  if (node.input(0).rank() != 1) return std::nullopt;
  const auto extent = static_cast<int64_t>(in[0].size());
  Elements result;
  for (const Affine& index : in[1]) {
    if (!index.is_constant()) return std::nullopt;
    const int64_t i = index.constant() < 0 ? index.constant() + extent : index.constant();
    if (i < 0 || i >= extent) return std::nullopt;
    result.push_back(in[0][i]);
  }
  return result;
}

Found Sliced(const Node& node, const std::vector<Elements>& in) {
  const auto extent = static_cast<int64_t>(in[0].size());
  for (size_t i = 1; i < in.size(); ++i) {
    const bool is_number = in[i].size() == 1 && in[i][0].is_constant();
    if (!is_number) return std::nullopt;
  }
  if (node.input(0).rank() != 1 || in.size() < 3) return std::nullopt;
  if (in.size() > 4 && in[4][0] != Affine(1)) return std::nullopt;
  const auto bound = [&](const Affine& given) {
    const int64_t number = given.constant();
    return std::clamp<int64_t>(number < 0 ? number + extent : number, 0, extent);
  };
  const int64_t start = bound(in[1][0]), end = std::max(start, bound(in[2][0]));
  return Elements(in[0].begin() + start, in[0].begin() + end);
}

Found Joined(const std::vector<Elements>& in) {
  Elements result;
  for (const Elements& elements : in) {
    result.insert(result.end(), elements.begin(), elements.end());
  }
  return result;
}

Found Unary(const Padder& padder, const Node& node, const Elements& x) {
  Elements result;
  for (const Affine& a : x) {
    if (node.op() == "Neg") {
      result.push_back(a.Times(-1));
    } else if (node.op() == "Abs" && a.Least(padder.lengths().most) >= 0) {
      result.push_back(a);
    } else if (node.op() == "Not" && a.is_constant()) {
      result.emplace_back(a.constant() == 0 ? 1 : 0);
    } else if (node.op() == "Cast" &&
               (node.output(0).dtype() != DType::kBool || a == Affine(0) || a == Affine(1))) {
      result.push_back(a);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

Found Reduced(const Node& node, const Elements& x) {
  Affine result = node.op() == "ReduceProd" ? 1 : 0;
  for (const Affine& a : x) {
    const std::optional<Affine> next =
        node.op() == "ReduceProd" ? Affine::Product(result, a) : result + a;
    if (!next.has_value()) return std::nullopt;
    result = *next;
  }
  if (node.output(0).elements() != 1) return std::nullopt;
  return Elements{result};
}

// Whether all operands but the first are constants.
bool HasConstantOperands(const std::vector<Elements>& in) {
  return std::all_of(in.begin() + 1, in.end(), [](const Elements& operand) {
    return std::all_of(operand.begin(), operand.end(),
                       [](const Affine& a) { return a.is_constant(); });
  });
}

Found Evaluate(Padder& padder, const Node& node, const std::vector<Elements>& in) {
  if (IsOp(&node, {"Expand", "Unsqueeze", "Squeeze", "Reshape"}) && !HasConstantOperands(in)) {
    return std::nullopt;
  }
  if (IsOp(&node, {"Identity", "Unsqueeze", "Squeeze", "Reshape", "Flatten"})) return in[0];
  if (IsOp(&node, {"Cast", "Neg", "Abs", "Not"})) return Unary(padder, node, in[0]);
  if (node.op() == "Gather") return Gathered(node, in);
  if (node.op() == "Slice") return Sliced(node, in);
  if (node.op() == "Concat") return Joined(in);
  if (node.op() == "Where") return Select(in);
  if (node.op() == "Expand" && in[0].size() == 1) {
    return Elements(node.output(0).elements(), in[0][0]);
  }
  if (IsOp(&node, {"ReduceProd", "ReduceSum"}) && node.input(0).rank() == 1) {
    return Reduced(node, in[0]);
  }
  if (IsOp(&node, {"Add", "Sub", "Mul", "Div", "Min", "Max", "Equal", "Less", "LessOrEqual",
                   "Greater", "GreaterOrEqual", "And", "Or"})) {
    return Pairwise(padder, node, in);
  }
  return std::nullopt;
}

// Of Shape and Size, which read dims alone.
Found FromDims(const Padder& padder, const Node& node) {
  const PaddedAxes axes = padder.AxesOf(node.input(0));
  const auto rank = static_cast<int64_t>(axes.size());
  Elements extents;
  for (const PaddedAxis& axis : axes) extents.push_back(axis.extent);
  if (node.op() == "Size") {
    Affine product = 1;
    for (const Affine& extent : extents) {
      const std::optional<Affine> next = Affine::Product(product, extent);
      if (!next.has_value()) return std::nullopt;
      product = *next;
    }
    return Elements{product};
  }
  const auto bound = [&](std::string_view name, int64_t otherwise) {
    const int64_t given = node.attrs().Int(name, otherwise);
    return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  return Elements(extents.begin() + start, extents.begin() + end);
}

bool MayHoldElements(const Value& value) {
  return value.is_static() && value.rank() <= 1 && value.elements() <= kMostElements &&
         (kIntegerTypes.Has(value.dtype()) || value.dtype() == DType::kBool);
}

bool ReadsElements(const Padder& padder, const Node& node) {
  return std::any_of(node.inputs().begin(), node.inputs().end(),
                     [&](const Value* v) { return v != nullptr && padder.DependsOnLengths(*v); });
}

}  // namespace

absl::StatusOr<bool> ComputeElements(Padder& padder, Node& node) {
  const bool reads_dims = IsOp(&node, {"Shape", "Size"}) && node.input(0).is_static();
  if (!node.domain().empty() || node.outputs().size() != 1 || !node.bodies().empty()) return false;
  if (!reads_dims && !ReadsElements(padder, node)) return false;
  std::vector<Elements> in;
  for (const Value* v : node.inputs()) {
    if (reads_dims) break;
    Found elements;
    if (v != nullptr) elements = padder.ElementsOf(*v);
    if (!elements.has_value()) return false;
    in.push_back(*std::move(elements));
  }
  RETURN_IF_ERROR(padder.Infer(node));
  if (!MayHoldElements(node.output(0))) return false;
  Found result = reads_dims ? FromDims(padder, node) : Evaluate(padder, node, in);
  if (!result.has_value()) return false;
  if (static_cast<int64_t>(result->size()) != node.output(0).elements()) return false;
  if (!std::all_of(result->begin(), result->end(), IsSmall)) return false;
  padder.SetElements(node.output(0), *std::move(result));
  return true;
}

}  // namespace onnx_cudnn
