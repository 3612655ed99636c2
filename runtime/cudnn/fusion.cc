#include "runtime/cudnn/fusion.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

constexpr Rule kProduct = {"a cuDNN graph holds one convolution or matmul",
                           "none: the value between two of them is written"};
constexpr Rule kPooling = {"cuDNN's pooling reads its input from memory",
                           "none in cuDNN: a kernel of ours may hold both"};
constexpr Rule kReduction = {
    "a reduction behind a convolution or matmul has to be fp32 and sums "
    "over whole tiles",
    "none in cuDNN: a kernel of ours sums"};
constexpr Rule kNotElementWise = {
    "only element-wise ops stand behind a convolution or matmul in a cuDNN graph",
    "where it only moves elements, move it behind the element-wise ops that follow"};
constexpr Rule kDtype = {"cuDNN's fusions take f16, bf16 and f32 here",
                         "cast the operands to one of them"};
constexpr Rule kPrimitive = {"cuDNN has no pointwise mode for the op",
                             "none in cuDNN: a fused element-wise kernel of ours takes it"};
constexpr Rule kLosesNan = {"cuDNN's maximum and minimum of two values lose NaN",
                            "none in cuDNN: a fused element-wise kernel of ours takes it"};
constexpr Rule kShape = {"the op's result differs in shape from the tensor it would be fused to",
                         "none: a broadcast result needs a pass of its own"};
constexpr Rule kOperand = {
    "cuDNN takes operands of one number, one per channel, one per pixel, or full ones",
    "expand the operand, or fold it into the weight"};
constexpr Rule kFirstOperand = {"the first operand of a cuDNN pointwise operation never broadcasts",
                                "swap the operands where the op allows it"};

bool IsNumber(const Node& node, const Term& term) {
  if (term.primitive == Primitive::kConstant) return true;
  if (term.primitive != Primitive::kInput) return false;
  const Value& value = node.input(term.input);
  return value.is_constant() && value.elements() == 1;
}

// cuDNN's ReLU keeps NaN; its maximum and minimum do not.
bool IsBound(const Node& node, const Expression& bound, const Term& term) {
  return std::any_of(term.args.begin(), term.args.begin() + 2,
                     [&](int arg) { return IsNumber(node, bound.terms()[arg]); });
}

const Rule* WhyNoModes(const Node& node) {
  const Expression bound = BindPointwise(node);
  for (const Term& term : bound.terms()) {
    if (term.primitive == Primitive::kMax || term.primitive == Primitive::kMin) {
      if (!IsBound(node, bound, term)) return &kLosesNan;
    } else if (ArityOf(term.primitive) > 0 && !TraitsOf(term.primitive).has_cudnn_mode) {
      return &kPrimitive;
    }
  }
  return nullptr;
}

bool IsOneOf(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool IsCommutative(const Node& node) {
  return IsOneOf(node.op(), {"Add", "Mul", "Max", "Min", "Sum", "Mean"});
}

const Rule* WhyNotElementWise(const Node& node) {
  const std::string_view op = node.op();
  if (IsOneOf(op, {"Conv", "ConvTranspose", "MatMul", "Gemm"})) return &kProduct;
  if (op.ends_with("Pool")) return &kPooling;
  return op.starts_with("Reduce") ? &kReduction : &kNotElementWise;
}

bool IsImage(const Value& value, const FusedTensor& tensor) {
  const OperandShape shape = ShapeOf(value, tensor);
  return shape == OperandShape::kFull || shape == OperandShape::kPerPixel;
}

// The result of broadcasting two compatible shapes by numpy's rule.
Dims Broadcast(const Dims& a, const Dims& b) {
  Dims dims = a.size() < b.size() ? b : a;
  const Dims& other = a.size() < b.size() ? a : b;
  for (size_t i = 1; i <= other.size(); ++i) {
    int64_t& extent = dims[dims.size() - i];
    extent = std::max(extent, other[other.size() - i]);
  }
  return dims;
}

}  // namespace

const Rule* WhyNotPointwise(const Node& node, const FusedTensor& tensor) {
  if (!IsPointwise(node)) return WhyNotElementWise(node);
  const Value& y = node.output(0);
  if (!y.is_static() || y.dims() != tensor.dims) return &kShape;
  if (!kCudnnTypes.Has(y.dtype())) return &kDtype;
  for (const Value* v : node.inputs()) {
    if (v == nullptr) continue;
    if (!v->is_static() || !kCudnnTypes.Has(v->dtype())) return &kDtype;
    if (v->rank() > y.rank()) return &kOperand;  // a slope of PRelu, which inference does not check
  }
  if (const Rule* no = WhyNoModes(node)) return no;
  const bool broadcasts_first = node.input(0).dims() != tensor.dims;
  return broadcasts_first && !IsCommutative(node) ? &kFirstOperand : nullptr;
}

const Rule* MayFuse(const GrowthStep& step, const FusedTensor& tensor) {
  if (const Rule* no = WhyNotPointwise(step.node, tensor)) return no;
  if (!step.edge.is_static() || step.edge.dims() != tensor.dims) return &kShape;
  for (const Value* v : step.node.inputs()) {
    if (v != nullptr && ShapeOf(*v, tensor) == OperandShape::kOther) return &kOperand;
  }
  return nullptr;
}

bool ReadsFullOperand(absl::Span<const Node* const> readers, absl::Span<const Node* const> nodes,
                      const FusedTensor& tensor) {
  for (const Node* reader : readers) {
    for (const Value* v : reader->inputs()) {
      if (v == nullptr || ShapeOf(*v, tensor) != OperandShape::kFull) continue;
      if (!Contains(nodes, v->producer())) return true;
    }
  }
  return false;
}

int CountImages(absl::Span<const Node* const> nodes, const FusedTensor& tensor) {
  std::vector<const Value*> images;
  for (const Node* node : nodes) {
    for (const Value* v : node->inputs()) {
      if (v == nullptr || Contains(nodes, v->producer()) || !IsImage(*v, tensor)) continue;
      if (std::find(images.begin(), images.end(), v) == images.end()) images.push_back(v);
    }
  }
  return static_cast<int>(images.size());
}

bool MapsZeroToZero(const Node& node, const FusedTensor& tensor) {
  static constexpr float kZero = 0;
  const Dims one(tensor.dims.size(), 1);
  std::vector<TensorRef> in;
  Dims dims = one;
  for (const Value* v : node.inputs()) {
    if (v == nullptr) {
      in.emplace_back();
    } else if (v->is_constant()) {
      const HostTensor& constant = v->constant();
      in.push_back({constant.dtype(), constant.dims(), constant.raw()});
      dims = Broadcast(dims, constant.dims());
    } else if (IsImage(*v, tensor)) {
      in.push_back({DType::kF32, one, &kZero});
    } else {
      return false;
    }
  }
  HostTensor out = HostTensor::Allocate(DType::kF32, dims);
  EvaluatePointwise(BindPointwise(node), in, {out.dtype(), out.dims(), out.mutable_raw()},
                    ThreadPool::Default());
  const absl::Span<const float> numbers = out.data<float>();
  return std::all_of(numbers.begin(), numbers.end(), [](float x) { return x == 0; });
}

bool KeepsZeroChannels(const Node& node, const FusedTensor& tensor) {
  if (IsOneOf(node.op(), {"Relu", "LeakyRelu", "Tanh", "HardSwish", "Swish", "Gelu", "Mul"})) {
    return true;
  }
  if (node.op() != "Add") return false;
  const auto is_padded_too = [&](const Value* v) {
    const OperandShape shape = ShapeOf(*v, tensor);
    return shape == OperandShape::kFull || shape == OperandShape::kPerChannel;
  };
  return std::all_of(node.inputs().begin(), node.inputs().end(), is_padded_too);
}

}  // namespace onnx_cudnn
