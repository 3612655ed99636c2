#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "tests/random/makers.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

bool IsAny(const Value&) { return true; }
bool IsMatrix(const Value& x) { return IsFloat(x) && x.rank() == 2; }
bool IsTensor(const Value& x) { return IsFloat(x) && HasAxes(x); }
bool IsResult(const Value& x) { return x.producer() != nullptr && x.producer()->bodies().empty(); }
bool IsVolume(const Value& x) { return x.rank() == 4; }

// Dims for one number per channel of `x`.
Dims PerChannel(const Value& x) {
  Dims dims(x.rank(), 1);
  dims[1] = x.dim(1);
  return dims;
}

Value* BatchNorm(Growth& g, Value* x) {
  if (x == nullptr) return nullptr;
  const Dims channels = {x->dim(1)};
  return g.AddValue("BatchNormalization",
                    {x, &g.Constant(x->dtype(), channels), &g.Constant(x->dtype(), channels),
                     &g.Constant(x->dtype(), channels), &g.Constant(x->dtype(), channels, 0.5, 2)});
}

// The ops that follow a product in models, each with some probability: bias, norm, scale,
// activation.
Value* Epilogue(Growth& g, Value* y) {
  static constexpr std::array kActivations = {"Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Tanh"};
  if (y != nullptr && g.OneIn(3))
    y = g.AddValue("Add", {y, &g.Constant(y->dtype(), PerChannel(*y))});
  if (g.OneIn(2)) y = BatchNorm(g, y);
  if (y != nullptr && g.OneIn(4))
    y = g.AddValue("Mul", {y, &g.Constant(y->dtype(), PerChannel(*y))});
  if (g.OneIn(2)) y = g.AddValue(g.OneOf(kActivations), {y});
  return y;
}

// Preserves extents; 2 × 2 windows have pads on one side.
Value* Convolution(Growth& g, Value& x, int64_t channels) {
  const int64_t kernel = g.OneIn(2) ? 1 : 2 + g.Below(2);
  const int64_t begin = (kernel - 1) / 2, end = kernel / 2;
  return g.AddValue("Conv", {&x, &g.Constant(x.dtype(), {channels, x.dim(1), kernel, kernel})},
                    {{"pads", Ints{begin, begin, end, end}}});
}

void ConvBlock(Growth& g, Value& x) { Epilogue(g, Convolution(g, x, 1 + g.Below(4))); }

void Residual(Growth& g, Value& x) {
  Value* branch = Epilogue(g, Convolution(g, x, x.dim(1)));
  g.AddValue("Relu", {g.AddValue("Add", {branch, &x})});
}

void UpBlock(Growth& g, Value& x) {
  Epilogue(g, g.AddValue("ConvTranspose", {&x, &g.Constant(x.dtype(), {x.dim(1), 2, 2, 2})},
                         {{"strides", Ints{2, 2}}}));
}

void PaddedWindow(Growth& g, Value& x) {
  Value* padded = g.AddValue("Pad", {&x, &g.Ints({0, 0, 1, 1, 0, 0, 1, g.Below(2)})});
  if (padded == nullptr) return;
  if (g.OneIn(2)) {
    Convolution(g, *padded, 2);
  } else {
    g.AddValue(g.OneIn(2) ? "MaxPool" : "AveragePool", {padded}, {{"kernel_shape", Ints{2, 2}}});
  }
}

void Linear(Growth& g, Value& x) {
  const int64_t n = 1 + g.Below(5);
  const char* op = g.OneIn(2) ? "MatMul" : "Gemm";
  Epilogue(g, g.AddValue(op, {&x, &g.Constant(x.dtype(), {x.dim(1), n})}));
}

void TransposePair(Growth& g, Value& x) {
  static const std::vector<Ints> kPerms = {{0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 3, 2}, {1, 0, 2, 3}};
  Value* turned = g.AddValue("Transpose", {&x}, {{"perm", g.OneOf(kPerms)}});
  if (turned != nullptr && g.OneIn(2)) turned = g.AddValue("Relu", {turned});
  g.AddValue("Transpose", {turned}, {{"perm", g.OneOf(kPerms)}});
}

// x + 0, 1 · x and similar.
void Neutral(Growth& g, Value& x) {
  static constexpr std::array kSums = {"Add", "Sub"}, kProducts = {"Mul", "Div"};
  const bool sums = g.OneIn(2);
  Value& constant = g.Filled(x.dtype(), g.OneIn(2) ? Dims{} : Dims(x.rank(), 1), sums ? 0 : 1);
  g.AddValue(sums ? g.OneOf(kSums) : g.OneOf(kProducts), {&x, &constant});
}

// Two consecutive ops with constants.
void ConstantChain(Growth& g, Value& x) {
  const char* op = g.OneIn(2) ? "Mul" : "Add";
  Value* first = g.AddValue(op, {&x, &g.Constant(x.dtype(), {}, 0.5, 2)});
  g.AddValue(op, {first, &g.Constant(x.dtype(), {}, 0.5, 2)});
}

// Gelu or Swish as exporters write them.
void Activation(Growth& g, Value& x) {
  if (g.OneIn(2)) {
    g.AddValue("Mul", {&x, g.AddValue("Sigmoid", {&x})});
    return;
  }
  Value* part = g.AddValue("Erf", {g.AddValue("Div", {&x, &g.Filled(x.dtype(), {}, 1.4142135F)})});
  part = g.AddValue("Add", {part, &g.Filled(x.dtype(), {}, 1)});
  g.AddValue("Mul", {g.AddValue("Mul", {&x, part}), &g.Filled(x.dtype(), {}, 0.5F)});
}

void CastPair(Growth& g, Value& x) {
  static constexpr std::array kBetween = {DType::kF64, DType::kF16, DType::kF32};
  Value* between = g.AddValue("Cast", {&x}, {{"to", static_cast<int64_t>(g.OneOf(kBetween))}});
  g.AddValue("Cast", {between}, {{"to", static_cast<int64_t>(x.dtype())}});
}

void ReshapePair(Growth& g, Value& x) {
  Value* flat = g.AddValue("Reshape", {&x, &g.Ints({-1})});
  if (g.OneIn(2)) flat = g.AddValue("Unsqueeze", {flat, &g.Ints({0})});
  g.AddValue("Reshape", {flat, &g.Ints(x.dims())});
}

// A Reshape with a computed shape, as exporters write it.
void ComputedReshape(Growth& g, Value& x) {
  Value* first = g.AddValue("Gather", {g.AddValue("Shape", {&x}), &g.Ints({0})});
  Value* shape = g.AddValue("Concat", {first, &g.Ints({-1})}, {{"axis", int64_t{0}}});
  g.AddValue("Reshape", {&x, shape});
}

void SplitAndJoin(Growth& g, Value& x) {
  const int axis = g.Below(x.rank());
  const Ints sizes = {1, x.dim(axis) - 1};
  if (sizes[1] == 0) return;
  Node* split = g.Add({.op = "Split",
                       .inputs = {&x, &g.Ints(sizes)},
                       .attrs = {{"axis", int64_t{axis}}},
                       .outputs = {"*", "*"}});
  if (split == nullptr) return;
  const int first = g.Below(2);
  g.AddValue("Concat", {&split->output(first), &split->output(1 - first)},
             {{"axis", int64_t{axis}}});
}

void SliceTwice(Growth& g, Value& x) {
  const int64_t axis = RandomAxis(g, x);
  Value* y = &x;
  for (int i = 0; i < 2; ++i) {
    y = g.AddValue("Slice", {y, &g.Ints({g.Below(2)}), &g.Ints({INT64_MAX}), &g.Ints({axis})});
  }
}

// LayerNormalization as exporters write it.
void WrittenLayerNorm(Growth& g, Value& x) {
  const auto mean = [&](Value* v) { return g.AddValue("ReduceMean", {v, &g.Ints({-1})}); };
  Value* d = g.AddValue("Sub", {&x, mean(&x)});
  Value* variance = mean(g.AddValue("Mul", {d, d}));
  Value* root = g.AddValue("Sqrt", {g.AddValue("Add", {variance, &g.Filled(x.dtype(), {}, 0.5)})});
  const Dims row = {x.dim(x.rank() - 1)};
  Value* y = g.AddValue("Mul", {g.AddValue("Div", {d, root}), &g.Constant(x.dtype(), row)});
  g.AddValue("Add", {y, &g.Constant(x.dtype(), row)});
}

// RMSNormalization as exporters write it.
void WrittenRmsNorm(Growth& g, Value& x) {
  Value* mean = g.AddValue("ReduceMean", {g.AddValue("Mul", {&x, &x}), &g.Ints({-1})});
  Value* root = g.AddValue("Sqrt", {g.AddValue("Add", {mean, &g.Filled(x.dtype(), {}, 0.5)})});
  Value* y = g.AddValue("Mul", {&x, g.AddValue("Reciprocal", {root})});
  g.AddValue("Mul", {y, &g.Constant(x.dtype(), {x.dim(x.rank() - 1)})});
}

// Scales each channel by a function of its mean, as in squeeze-and-excitation.
void Excitation(Growth& g, Value& x) {
  Value* mean = g.AddValue("ReduceMean", {&x, &g.Ints({2, 3})});
  g.AddValue("Mul", {&x, g.AddValue("Sigmoid", {mean})});
}

// Attention as exporters write it, in f16.
void WrittenAttention(Growth& g, Value& x) {
  Value* q = x.dtype() == DType::kF16
                 ? &x
                 : g.AddValue("Cast", {&x}, {{"to", static_cast<int64_t>(DType::kF16)}});
  Value* columns = g.AddValue("Transpose", {q}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  Value* scaled = g.AddValue("Mul", {q, &g.Filled(DType::kF16, {}, 0.25)});
  Value* weights = g.AddValue("Softmax", {g.AddValue("MatMul", {scaled, columns})});
  g.AddValue("MatMul", {weights, q});
}

// Attention over heads that three products compute from the rows of x, in f16, with a mask of bools
// where the rows are a multiple of four.
void Projections(Growth& g, Value& x) {
  const int64_t channels = x.dim(x.rank() - 1), rows = x.elements() / channels;
  Value* matrix = g.AddValue("Reshape", {&x, &g.Ints({1, rows, channels})});
  if (x.dtype() != DType::kF16) {
    matrix = g.AddValue("Cast", {matrix}, {{"to", static_cast<int64_t>(DType::kF16)}});
  }
  const auto heads = [&] {
    Value* y = g.AddValue("MatMul", {matrix, &g.Constant(DType::kF16, {channels, 16})});
    y = g.AddValue("Reshape", {y, &g.Ints({1, rows, 2, 8})});
    return g.AddValue("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
  };
  std::vector<Value*> inputs = {heads(), heads(), heads()};
  if (rows % 4 == 0) inputs.push_back(&g.Filled(DType::kBool, {rows, rows}, 1));
  g.AddValue("Attention", std::move(inputs));
}

// A convolution that cuts an image of sixteen equal rows into columns.
void Patches(Growth& g, Value& x) {
  Value* row = g.AddValue("Reshape", {&x, &g.Ints({1, 1, 1, x.elements()})});
  Value* image = g.AddValue("Expand", {row, &g.Ints({1, 1, 16, x.elements()})});
  g.AddValue("Conv", {image, &g.Constant(x.dtype(), {1 + g.Below(5), 1, 16, 1})},
             {{"strides", Ints{16, 1}}});
}

// A product of pixels, channels-last, whose result is channels-first again and scaled, beside x.
void PixelProduct(Growth& g, Value& x) {
  const int64_t channels = x.dim(1);
  Value* last = g.AddValue("Transpose", {&x}, {{"perm", Ints{0, 2, 3, 1}}});
  Value* y = g.AddValue("MatMul", {last, &g.Constant(x.dtype(), {channels, channels})});
  if (g.OneIn(2)) y = g.AddValue("Add", {y, &g.Constant(x.dtype(), {channels})});
  Value* first = g.AddValue("Transpose", {y}, {{"perm", Ints{0, 3, 1, 2}}});
  Value* scaled = g.AddValue("Mul", {first, &g.Constant(x.dtype(), {channels, 1, 1})});
  g.AddValue("Add", {scaled, &x});
}

// Attention-like windows of an image: rows of channels in another order, perhaps normalized before.
void Windows(Growth& g, Value& x) {
  // Rows of 16 bytes where that is possible.
  const int64_t channels = x.elements() % 8 == 0 ? 8 : x.dim(x.rank() - 1);
  const int64_t rows = x.elements() / channels;
  Value* y = g.AddValue("Reshape", {&x, &g.Ints({rows, channels})});
  if (g.OneIn(2)) {
    y = g.AddValue("LayerNormalization", {y, &g.Constant(x.dtype(), {channels})});
  }
  Value* begin = g.AddValue("Slice", {y, &g.Ints({0}), &g.Ints({1}), &g.Ints({0})});
  Value* rest = g.AddValue("Slice", {y, &g.Ints({1}), &g.Ints({rows}), &g.Ints({0})});
  y = g.AddValue("Concat", {rest, begin}, {{"axis", int64_t{0}}});
  g.AddValue("MatMul", {y, &g.Constant(x.dtype(), {channels, 1 + g.Below(5)})});
}

// One of the parts along an axis.
void OnePart(Growth& g, Value& x) {
  const int axis = g.Below(x.rank());
  const int64_t index = g.Below(static_cast<int>(x.dim(axis)));
  g.AddValue("Gather", {&x, &g.Ints({index})}, {{"axis", int64_t{axis}}});
}

// A copy of an existing Node.
void Twin(Growth& g, Value& x) {
  const Node& node = *x.producer();
  g.Add({.op = node.op(),
         .inputs = {node.inputs().begin(), node.inputs().end()},
         .attrs = node.attrs(),
         .outputs = std::vector<std::string>(node.outputs().size(), "*")});
}

// A result computed from constants only.
void OfConstants(Growth& g, Value& x) {
  Value* y = g.AddValue("Identity", {&g.Constant(x.dtype(), x.dims())});
  if (IsFloat(x)) g.AddValue("Tanh", {y});
}

std::unique_ptr<Graph> Branch(const Value& x, const char* op) {
  auto body = std::make_unique<Graph>();
  Value& input = body->AddInput("b", x.type());
  body->AddOutput("o", body->AddNode({.op = op, .inputs = {&input}}).output(0));
  return body;
}

void ConstantIf(Growth& g, Value& x) {
  NodeSpec spec{.op = "If", .inputs = {&g.Filled(DType::kBool, {}, g.Below(2)), &x}, .captures = 1};
  spec.bodies["then_branch"] = Branch(x, "Identity");
  spec.bodies["else_branch"] = Branch(x, IsFloat(x) ? "Neg" : "Identity");
  g.Add(std::move(spec));
}

constexpr Maker kMakers[] = {
    {IsImage, ConvBlock},         {IsImage, ConvBlock},
    {IsImage, Residual},          {IsImage, UpBlock},
    {IsImage, PaddedWindow},      {IsMatrix, Linear},
    {IsVolume, TransposePair},    {IsFloat, Neutral},
    {IsFloat, ConstantChain},     {IsFloat, Activation},
    {IsFloat, CastPair},          {HasAxes, ReshapePair},
    {HasAxes, ComputedReshape},   {HasAxes, SplitAndJoin},
    {HasAxes, SliceTwice},        {IsResult, Twin},
    {IsAny, OfConstants},         {IsAny, ConstantIf},
    {IsTensor, WrittenLayerNorm}, {IsTensor, WrittenRmsNorm},
    {IsImage, Excitation},        {IsImage, WrittenAttention},
    {IsTensor, Projections},      {IsTensor, OnePart},
    {IsImage, PixelProduct},      {IsTensor, Patches},
    {IsTensor, Windows},
};

}  // namespace

absl::Span<const Maker> MotifMakers() { return kMakers; }

}  // namespace onnx_cudnn
