#include "runtime/cudnn/cuda/lower_pointwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The mode equivalent to `primitive`; nullopt if cuDNN has none.
std::optional<PointwiseMode> ModeOf(Primitive primitive) {
  using enum PointwiseMode;
  constexpr std::nullopt_t kNone = std::nullopt;
  switch (primitive) {
#define PRIMITIVE(name, arity, types, cost, executors, expression, cudnn_mode) \
  case Primitive::k##name:                                                     \
    return cudnn_mode;
#include "runtime/ops/primitives.inc"
    default:
      return kNone;
  }
}

// How to compute f(a, b) if only b may be the first operand.
struct Swapped {
  std::optional<PointwiseMode> first;  // applied to b
  PointwiseMode then;                  // applied to (the result for) b, and a
};

std::optional<Swapped> SwappedForm(Primitive primitive) {
  switch (primitive) {
    case Primitive::kAdd:
    case Primitive::kMul:
    case Primitive::kEqual:
    case Primitive::kAnd:
    case Primitive::kOr:
      return Swapped{std::nullopt, *ModeOf(primitive)};
    case Primitive::kLess:
      return Swapped{std::nullopt, PointwiseMode::kGreater};
    case Primitive::kLessOrEqual:
      return Swapped{std::nullopt, PointwiseMode::kGreaterOrEqual};
    case Primitive::kSub:
      return Swapped{PointwiseMode::kNeg, PointwiseMode::kAdd};
    case Primitive::kDiv:
      return Swapped{PointwiseMode::kReciprocal, PointwiseMode::kMul};
    default:
      return std::nullopt;
  }
}

bool IsComparison(PointwiseMode mode) {
  switch (mode) {
    case PointwiseMode::kEqual:
    case PointwiseMode::kGreater:
    case PointwiseMode::kGreaterOrEqual:
    case PointwiseMode::kLess:
    case PointwiseMode::kLessOrEqual:
    case PointwiseMode::kAnd:
    case PointwiseMode::kOr:
    case PointwiseMode::kNot:
      return true;
    default:
      return false;
  }
}

std::optional<double> Fold(Primitive primitive, double a, double b) {
  switch (primitive) {
    case Primitive::kNeg:
      return -a;
    case Primitive::kAdd:
      return a + b;
    case Primitive::kSub:
      return a - b;
    case Primitive::kMul:
      return a * b;
    case Primitive::kDiv:
      return a / b;
    default:
      return std::nullopt;
  }
}

// Lowers one Node.
class Lowering {
 public:
  Lowering(const Node& node, const CudnnTensorView& view, GraphBuilder& builder)
      : node_(node),
        view_(view),
        builder_(builder),
        bound_(BindPointwise(node)),
        tensors_(bound_.terms().size(), -1) {}

  absl::Status Run() {
    const Value& y = node_.output(0);
    if (std::optional<CudnnOperation> whole = WholeNode()) {
      ASSIGN_OR_RETURN(const int x, builder_.Read(node_.input(0), view_));
      return Last(*std::move(whole), {x});
    }
    const int last = static_cast<int>(bound_.terms().size()) - 1;
    if (NumberOf(last).has_value()) {
      return absl::UnimplementedError(absl::StrCat("all operands of ", node_.op(), " are numbers"));
    }
    if (bound_.terms()[last].primitive == Primitive::kInput) {
      ASSIGN_OR_RETURN(const int x, Lower(last));
      return builder_.WriteAs(y, x, view_);
    }
    return Lower(last).status();
  }

 private:
  // Nodes that correspond to a single mode although their expressions have several primitives.
  std::optional<CudnnOperation> WholeNode() const {
    const Attrs& attrs = node_.attrs();
    if (node_.op() == "Gelu") {
      const bool is_tanh = attrs.String("approximate", "none") == "tanh";
      return CudnnOperation{.mode = is_tanh ? PointwiseMode::kGeluTanh : PointwiseMode::kGelu};
    }
    if (node_.op() == "LeakyRelu") {
      return CudnnOperation{.mode = PointwiseMode::kRelu,
                            .slope = double{attrs.Float("alpha", 0.01F)}};
    }
    if (node_.op() == "Swish") {
      return CudnnOperation{.mode = PointwiseMode::kSwish, .beta = double{attrs.Float("alpha", 1)}};
    }
    return std::nullopt;
  }

  absl::StatusOr<int> Lower(int index) {
    if (tensors_[index] >= 0) return tensors_[index];
    ASSIGN_OR_RETURN(tensors_[index], Make(index));
    return tensors_[index];
  }

  absl::StatusOr<int> Make(int index) {
    const Term& term = bound_.terms()[index];
    if (const std::optional<double> number = NumberOf(index)) {
      return builder_.Number(*number, view_.groups.size());
    }
    if (term.primitive == Primitive::kInput) return builder_.Read(node_.input(term.input), view_);
    if (term.primitive == Primitive::kSelect) return Select(index);
    if (const std::optional<Clip> clip = ClipOf(index)) return Clipped(index, *clip);
    if (ArityOf(term.primitive) == 2) return Binary(index);
    const std::optional<PointwiseMode> mode = ModeOf(term.primitive);
    if (!mode.has_value()) return NoMode();
    ASSIGN_OR_RETURN(const int x, Lower(term.args[0]));
    return Emit(index, {.mode = *mode}, {x});
  }

  // max(min(x, upper), lower) in either order, max(x, lower) or min(x, upper). cuDNN's ReLU keeps
  // NaN; its maximum and minimum do not.
  struct Clip {
    int x;
    double lower, upper;
  };
  std::optional<Clip> ClipOf(int index) const {
    const std::optional<std::pair<int, double>> outer = Bounded(index);
    if (!outer.has_value()) return std::nullopt;
    const bool is_max = bound_.terms()[index].primitive == Primitive::kMax;
    const std::optional<std::pair<int, double>> inner = Bounded(outer->first);
    const Primitive other = is_max ? Primitive::kMin : Primitive::kMax;
    if (inner.has_value() && bound_.terms()[outer->first].primitive == other) {
      const double lower = is_max ? outer->second : inner->second;
      const double upper = is_max ? inner->second : outer->second;
      if (lower <= upper) return Clip{inner->first, lower, upper};
    }
    return is_max ? Clip{outer->first, outer->second, kInfinity}
                  : Clip{outer->first, -kInfinity, outer->second};
  }
  // The other argument and the number, for a maximum or minimum with a finite number.
  std::optional<std::pair<int, double>> Bounded(int index) const {
    const Term& term = bound_.terms()[index];
    if (term.primitive != Primitive::kMax && term.primitive != Primitive::kMin) return std::nullopt;
    for (int i = 0; i < 2; ++i) {
      const std::optional<double> number = NumberOf(term.args[i]);
      if (number.has_value() && std::abs(*number) < kInfinity) {
        return std::pair(term.args[1 - i], *number);
      }
    }
    return std::nullopt;
  }
  absl::StatusOr<int> Clipped(int index, const Clip& clip) {
    ASSIGN_OR_RETURN(const int x, Lower(clip.x));
    if (clip.lower == -kInfinity) {  // min(x, upper) = -max(-x, -upper)
      const int negated = Temporary({.mode = PointwiseMode::kNeg}, {x});
      const int bounded =
          Temporary({.mode = PointwiseMode::kRelu, .lower = -clip.upper}, {negated});
      return Emit(index, {.mode = PointwiseMode::kNeg}, {bounded});
    }
    return Emit(index, {.mode = PointwiseMode::kRelu, .lower = clip.lower, .upper = clip.upper},
                {x});
  }

  absl::StatusOr<int> Binary(int index) {
    const Term& term = bound_.terms()[index];
    const std::optional<PointwiseMode> mode = ModeOf(term.primitive);
    if (!mode.has_value()) return NoMode();
    if (term.primitive == Primitive::kDiv && NumberOf(term.args[0]) == 1.0) {
      ASSIGN_OR_RETURN(const int x, Lower(term.args[1]));
      return Emit(index, {.mode = PointwiseMode::kReciprocal}, {x});
    }
    ASSIGN_OR_RETURN(const int a, Lower(term.args[0]));
    ASSIGN_OR_RETURN(const int b, Lower(term.args[1]));
    if (RankAsFirst(a) >= RankAsFirst(b)) return Emit(index, {.mode = *mode}, {a, b});
    const std::optional<Swapped> swapped = SwappedForm(term.primitive);
    if (!swapped.has_value()) {
      if (IsWhole(a)) return Emit(index, {.mode = *mode}, {a, b});
      return absl::UnimplementedError(
          absl::StrCat("the first operand of ", node_.op(), " broadcasts"));
    }
    if (!swapped->first.has_value()) return Emit(index, {.mode = swapped->then}, {b, a});
    const int first = Temporary({.mode = *swapped->first}, {b});
    return Emit(index, {.mode = swapped->then}, {first, a});
  }

  absl::StatusOr<int> Select(int index) {
    const Term& term = bound_.terms()[index];
    ASSIGN_OR_RETURN(int condition, Lower(term.args[0]));
    ASSIGN_OR_RETURN(int yes, Lower(term.args[1]));
    ASSIGN_OR_RETURN(int no, Lower(term.args[2]));
    if (builder_.tensor(condition).dtype != DType::kBool) {
      return absl::UnimplementedError("a condition that is no comparison");
    }
    if (!IsWhole(yes)) {
      if (!IsWhole(no)) return absl::UnimplementedError("both choices of a condition broadcast");
      condition = Temporary({.mode = PointwiseMode::kNot}, {condition});
      std::swap(yes, no);
    }
    return Emit(index, {.mode = PointwiseMode::kSelect}, {yes, no, condition});
  }

  std::optional<double> NumberOf(int index) const {
    const Term& term = bound_.terms()[index];
    if (term.primitive == Primitive::kConstant) return term.value;
    if (term.primitive == Primitive::kInput) return NumberIn(node_.input(term.input));
    std::array<double, 2> args = {0, 0};
    const int arity = ArityOf(term.primitive);
    if (arity > 2) return std::nullopt;
    for (int i = 0; i < arity; ++i) {
      const std::optional<double> arg = NumberOf(term.args[i]);
      if (!arg.has_value()) return std::nullopt;
      args[i] = *arg;
    }
    return Fold(term.primitive, args[0], args[1]);
  }

  bool IsWhole(int tensor) const { return builder_.tensor(tensor).dims == WholeLayout(view_).dims; }
  // Operands with a higher rank are preferred as the first.
  int RankAsFirst(int tensor) const {
    if (!IsWhole(tensor)) return 0;
    const CudnnTensor::Kind kind = builder_.tensor(tensor).kind;
    const bool is_computed =
        kind == CudnnTensor::Kind::kVirtual || kind == CudnnTensor::Kind::kOutput;
    return is_computed ? 2 : 1;
  }

  // A dense tensor with the dims to which the operands broadcast.
  int Temporary(CudnnOperation operation, std::vector<int> in) {
    TensorLayout layout = WholeLayout(view_);
    for (size_t i = 0; i < layout.dims.size(); ++i) {
      int64_t extent = 1;
      for (const int t : in) extent = std::max(extent, builder_.tensor(t).dims[i]);
      layout.dims[i] = extent;
    }
    const DType dtype = IsComparison(operation.mode) ? DType::kBool : DType::kF32;
    operation.in = std::move(in);
    operation.out = builder_.Between(std::move(layout), dtype);
    builder_.Add(std::move(operation));
    return operation.out;
  }

  absl::StatusOr<int> Emit(int index, CudnnOperation operation, std::vector<int> in) {
    const bool is_last = index + 1 == static_cast<int>(bound_.terms().size());
    if (!is_last) return Temporary(std::move(operation), std::move(in));
    RETURN_IF_ERROR(Last(std::move(operation), std::move(in)));
    return 0;  // the last Term has no reader
  }

  absl::Status Last(CudnnOperation operation, std::vector<int> in) {
    if (!IsWhole(in[0])) {
      return absl::UnimplementedError(
          absl::StrCat("the first operand of ", node_.op(), " broadcasts"));
    }
    ASSIGN_OR_RETURN(operation.out, builder_.Write(node_.output(0), view_));
    operation.in = std::move(in);
    builder_.Add(std::move(operation));
    return absl::OkStatus();
  }

  absl::Status NoMode() const {
    return absl::UnimplementedError(absl::StrCat("cuDNN has no pointwise mode for ", node_.op()));
  }

  const Node& node_;
  const CudnnTensorView& view_;
  GraphBuilder& builder_;
  const Expression bound_;
  std::vector<int> tensors_;  // by Term; -1: not computed yet
};

}  // namespace

absl::Status LowerPointwise(const Node& node, const CudnnTensorView& view, GraphBuilder& builder) {
  return Lowering(node, view, builder).Run();
}

}  // namespace onnx_cudnn
