// Casts f32 arithmetic to f16 or bf16 by fixed rules, without measuring:
//   - Conv, ConvTranspose, Gemm, MatMul and Attention without a cache are lowered; their sums stay
//     f32, and so does the mask of an Attention.
//   - Ops that keep the range (OpTraits::keeps_range) are lowered if one of their inputs comes from
//     a lowered Node.
//   - Ops that always compute in f32 (OpTraits::computes_in_f32) are lowered if input 0 comes from
//     a lowered Node and all their readers may be lowered too: their input is already rounded, and
//     a linear op that reads their output would round it.
//   - Everything else stays f32, in particular range-sensitive ops: ReduceSum and other sums
//     (CumSum, LRN), losses, Exp, Log, Pow, Sqrt, Reciprocal, Div by a variable, Range. So do
//     inputs and outputs of the model, and bodies. Shape and Size read either type.
//   - A sum that becomes the logits of a Softmax stays f32 if an addend is large or does not come
//     from a lowered Node: near a mask of -10,000, f16 values are multiples of 8, so that a fully
//     masked row would lose its logits.
//   - Nodes of PassContext::keep_f32 stay f32.
//   - A Node stays f32 if it reads a constant that the low type cannot represent, because an
//     element would become infinite or zero. In weights, factors of a norm and addends with more
//     than one element, elements may become zero, as rounding the sum would make them; a single
//     addend may be an epsilon and must be a normal number.
// A Value is cast at most once in each direction; constants are cast here.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/linear_op.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/graph/float16.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

// Adding a number up to this size loses no more digits of logits than their own size does.
constexpr float kMostLogitAddend = 16;

bool IsSum(const Node& node) {
  return node.op() == "Add" || node.op() == "Sub" || node.op() == "Sum";
}

bool IsSoftmax(const Node& node) { return node.op() == "Softmax" || node.op() == "LogSoftmax"; }

bool IsSmall(const HostTensor& constant) {
  const absl::Span<const float> values = constant.data<float>();
  return std::all_of(values.begin(), values.end(),
                     [](float x) { return !std::isfinite(x) || std::abs(x) <= kMostLogitAddend; });
}

bool ReadsDimsOnly(const Node& node) {
  return node.domain().empty() && (node.op() == "Shape" || node.op() == "Size");
}

bool IsF32(const Value* v) {
  return v != nullptr && v->type().is_tensor() && v->dtype() == DType::kF32;
}

bool IsAttention(const Node& node) { return node.op() == "Attention" && node.domain().empty(); }

// Whether it is lowered whatever it reads.
bool IsProduct(const Node& node) { return IsLinear(&node) || IsAttention(node); }

// The inputs that have the same type as output 0 in the op's schema, without a cache.
absl::Span<Value* const> TypedInputs(const Node& node) {
  if (IsAttention(node)) return node.inputs().subspan(0, 3);
  const bool first_only = node.op() == "Dropout" || node.op() == "Resize";
  return first_only ? node.inputs().subspan(0, 1) : node.inputs();
}

Type WithDType(Type type, DType dtype) {
  type.dtype = dtype;
  return type;
}

class Lowering {
 public:
  Lowering(Graph& graph, DType low) : graph_(graph), low_(low) {}

  absl::StatusOr<bool> Run(const std::vector<std::string>& keep_f32) {
    const std::vector<Node*> order = graph_.TopologicalOrder();
    RETURN_IF_ERROR(Keep(order, keep_f32));
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      if (MayBeLow(**node)) may_be_low_.insert(*node);
      if (WritesLogits(**node)) writes_logits_.insert(*node);
    }
    for (Node* node : order) {
      if (!may_be_low_.contains(node)) continue;
      if (IsProduct(*node) || (Follows(*node) && !MasksLogits(*node))) lowered_.insert(node);
    }
    for (Node* node : order) {
      if (lowered_.contains(node)) Lower(*node);
    }
    for (Node* node : order) {
      if (!lowered_.contains(node) && !ReadsDimsOnly(*node)) WidenInputs(*node, 0);
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      Value& value = *graph_.outputs()[i].value;
      if (IsLowered(&value)) graph_.SetOutput(static_cast<int>(i), Widened(value));
    }
    return !lowered_.empty();
  }

 private:
  // InvalidArgument: no Node has this name.
  absl::Status Keep(const std::vector<Node*>& order, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto has_name = [&](const Node* node) {
        return node->name() == name ||
               std::any_of(node->outputs().begin(), node->outputs().end(),
                           [&](const Value* v) { return v != nullptr && v->name() == name; });
      };
      const auto first = std::find_if(order.begin(), order.end(), has_name);
      if (first == order.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("option keep_f32: after the rewrites there is no node \"", name, "\""));
      }
      for (auto node = first; node != order.end(); ++node) {
        if (has_name(*node)) kept_.insert(*node);
      }
    }
    return absl::OkStatus();
  }

  bool IsLowered(const Value* v) const {
    return v != nullptr && lowered_.contains(v->producer()) && v->dtype() == low_;
  }

  // Whether it is lowered, provided that it is linear or reads a lowered Node. All readers of
  // `node` have been decided.
  bool MayBeLow(const Node& node) const {
    if (kept_.contains(&node) || !node.domain().empty() || !node.bodies().empty()) return false;
    const OpDef* op = FindOp(node);
    if (op == nullptr || !op->types.Has(low_)) return false;
    if (IsAttention(node) && (node.inputs().size() > 4 || node.outputs().size() > 1)) return false;
    if (!node.has_output(0) || !IsF32(&node.output(0))) return false;
    const bool inner_f32 = op->traits.computes_in_f32 && IsAmongLow(node);
    if (!IsProduct(node) && !op->traits.keeps_range && !inner_f32) return false;
    if (node.op() == "Div" && !node.input(1).is_constant()) return false;
    const absl::Span<Value* const> inputs = TypedInputs(node);
    return std::all_of(inputs.begin(), inputs.end(), [&](const Value* v) {
      return !IsF32(v) || !v->is_constant() || Holds(v->constant(), node);
    });
  }

  // Whether all other inputs are constants, and all readers of the only output may be lowered.
  bool IsAmongLow(const Node& node) const {
    if (node.outputs().size() != 1 || node.output(0).is_graph_output()) return false;
    const absl::Span<Value* const> factors = TypedInputs(node).subspan(1);
    const std::vector<Use>& uses = node.output(0).uses();
    return std::all_of(factors.begin(), factors.end(),
                       [](const Value* v) { return !IsF32(v) || v->is_constant(); }) &&
           std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
             return ReadsDimsOnly(*use.node) ||
                    (may_be_low_.contains(use.node) &&
                     use.index < static_cast<int>(TypedInputs(*use.node).size()));
           });
  }

  // Whether a Softmax reads the output of `node`, directly or through ops that keep the range,
  // which have been decided.
  bool WritesLogits(const Node& node) const {
    if (!TraitsOf(node).keeps_range || !node.has_output(0)) return false;
    const std::vector<Use>& uses = node.output(0).uses();
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      return (IsSoftmax(*use.node) && use.index == 0) || writes_logits_.contains(use.node);
    });
  }

  // Whether the sum with the other addends of `node` may lose logits in the low type. All inputs
  // have been decided.
  bool MasksLogits(const Node& node) const {
    if (!IsSum(node) || !writes_logits_.contains(&node)) return false;
    return std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Value* v) {
      return v->is_constant() ? !IsSmall(v->constant()) : !lowered_.contains(v->producer());
    });
  }

  bool Follows(const Node& node) const {
    const absl::Span<Value* const> inputs = TypedInputs(node);
    return std::any_of(inputs.begin(), inputs.end(), [&](const Value* v) {
      return IsF32(v) && lowered_.contains(v->producer());
    });
  }

  bool Holds(const HostTensor& constant, const Node& reader) const {
    const bool adds = reader.op() == "Add" || reader.op() == "Sub";
    const bool may_vanish = !TraitsOf(reader).keeps_range || (adds && constant.elements() > 1);
    constexpr float kNormalF16 = 6.103515625e-05F, kAny = std::numeric_limits<float>::denorm_min();
    const float least = may_vanish ? 0 : adds && low_ == DType::kF16 ? kNormalF16 : kAny;
    return low_ == DType::kF16 ? AllHold<Float16>(constant.data<float>(), least)
                               : AllHold<BFloat16>(constant.data<float>(), least);
  }

  // least: the smallest magnitude of a nonzero element that must be represented.
  template <typename T>
  static bool AllHold(absl::Span<const float> values, float least) {
    std::atomic<bool> all = true;
    ForEachChunk(values.size(), [&](int64_t begin, int64_t end) {
      bool hold = true;  // no early exit, so that the loop vectorizes
      for (int64_t i = begin; i < end; ++i) {
        const float x = values[i], rounded = ToFloat(Rounded<T>(x));
        hold &= !std::isfinite(x) | std::isfinite(rounded);
        hold &= !(std::abs(rounded) < least) | (x == 0);
      }
      if (!hold) all = false;
    });
    return all;
  }

  void Lower(Node& node) {
    const int typed = static_cast<int>(TypedInputs(node).size());
    for (int i = 0; i < typed; ++i) {
      if (node.has_input(i) && IsF32(&node.input(i))) {
        graph_.SetInput(node, i, &Lowered(node.input(i)));
      }
    }
    WidenInputs(node, typed);
    for (Value* v : node.outputs()) {
      if (IsF32(v)) graph_.SetType(*v, WithDType(v->type(), low_));
    }
  }

  // Widens the inputs from `first` on.
  void WidenInputs(Node& node, int first) {
    for (int i = first; i < static_cast<int>(node.inputs().size()); ++i) {
      Value* v = node.inputs()[i];
      if (IsLowered(v)) graph_.SetInput(node, i, &Widened(*v));
    }
  }

  // `v` in the low type: a constant, or a Cast of a Value that stays f32.
  Value& Lowered(Value& v) {
    Value*& low = low_of_[v.id()];
    if (low == nullptr && v.is_constant()) {
      low = &graph_.AddConstant(CastConstant(v.constant()), v.name());
    } else if (low == nullptr) {
      low = &Cast(v, low_);
    }
    return *low;
  }

  Value& Widened(Value& v) {
    Value*& wide = wide_of_[v.id()];
    if (wide == nullptr) wide = &Cast(v, DType::kF32);
    return *wide;
  }

  HostTensor CastConstant(const HostTensor& constant) const {
    HostTensor low = HostTensor::Allocate(low_, constant.dims());
    if (low_ == DType::kF16) {
      RoundInto(constant.data<float>(), low.mutable_data<Float16>());
    } else {
      RoundInto(constant.data<float>(), low.mutable_data<BFloat16>());
    }
    return low;
  }

  template <typename T>
  static void RoundInto(absl::Span<const float> from, absl::Span<T> to) {
    ForEachChunk(from.size(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = Rounded<T>(from[i]);
    });
  }

  template <typename T>
  static T Rounded(float x) {
    if constexpr (std::is_same_v<T, Float16>) {
      return ToFloat16(x);
    } else {
      return ToBFloat16(x);
    }
  }

  static void ForEachChunk(size_t elements, absl::FunctionRef<void(int64_t, int64_t)> body) {
    constexpr int64_t kGrain = 1 << 16;
    ThreadPool::Default().ParallelFor(static_cast<int64_t>(elements), kGrain, body);
  }

  Value& Cast(Value& v, DType to) {
    Node& cast = graph_.AddNode({.op = "Cast",
                                 .inputs = {&v},
                                 .attrs = {{"to", static_cast<int64_t>(to)}},
                                 .outputs = {v.name()}});
    graph_.SetType(cast.output(0), WithDType(v.type(), to));
    return cast.output(0);
  }

  Graph& graph_;
  const DType low_;
  std::unordered_set<const Node*> kept_, may_be_low_, writes_logits_, lowered_;
  std::unordered_map<int, Value*> low_of_, wide_of_;  // by Value id
};

class LowerPrecisionPass final : public Pass {
 public:
  LowerPrecisionPass(std::string_view name, DType low) : name_(name), low_(low) {}
  std::string_view name() const override { return name_; }
  absl::StatusOr<bool> Run(Graph& graph, PassContext& context) override {
    return Lowering(graph, low_).Run(context.keep_f32);
  }

 private:
  const std::string_view name_;
  const DType low_;
};

}  // namespace

std::unique_ptr<Pass> LowerPrecisionBf16() {
  return std::make_unique<LowerPrecisionPass>("lower-precision-bf16", DType::kBF16);
}
std::unique_ptr<Pass> LowerPrecisionFp16() {
  return std::make_unique<LowerPrecisionPass>("lower-precision-fp16", DType::kF16);
}

}  // namespace onnx_cudnn
