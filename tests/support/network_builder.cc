#include "tests/support/network_builder.h"

#include <memory>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kSharedFloats = int64_t{10} << 20;
constexpr int64_t kWeightStep = 16;  // floats between the starts of two weights: cache lines
constexpr int64_t kLastStart = 1 << 16;

using Ints64 = std::vector<int64_t>;

// Numbers in [-1/16, 1/16); their period divides no weight's size.
std::shared_ptr<const std::vector<float>> SharedFloats() {
  static const auto* const shared = [] {
    auto floats = std::make_shared<std::vector<float>>(kSharedFloats);
    uint32_t state = 1;
    for (float& x : *floats) {
      state = state * 1'664'525 + 1'013'904'223;
      x = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-35F;
    }
    return new std::shared_ptr<const std::vector<float>>(std::move(floats));
  }();
  return *shared;
}

Attrs WindowAttrs(const SlidingWindow& window) {
  const int64_t top = window.valid ? 0 : window.height / 2;
  const int64_t left = window.valid ? 0 : window.width / 2;
  return {{"kernel_shape", Ints64{window.height, window.width}},
          {"pads", Ints64{top, left, top, left}},
          {"strides", Ints64{window.stride, window.stride}}};
}

}  // namespace

NetworkBuilder::NetworkBuilder(std::string_view name) : inference_(graph_) {
  graph_.set_name(std::string(name));
}

Value& NetworkBuilder::Input(std::string_view name, Dims dims) {
  return graph_.AddInput(name, Type::Tensor(DType::kF32, dims));
}

Value& NetworkBuilder::Weight(Dims dims) {
  const auto floats = SharedFloats();
  CHECK_LE(ElementsOf(dims) + kLastStart, kSharedFloats) << ToString(absl::MakeConstSpan(dims));
  const float* data = floats->data() + next_weight_;
  next_weight_ = (next_weight_ + kWeightStep) % kLastStart;
  return graph_.AddConstant(HostTensor::Borrow(DType::kF32, std::move(dims), data, floats), "w");
}

Value& NetworkBuilder::Ints(absl::Span<const int64_t> values) {
  return graph_.AddConstant(HostTensor::Ints(values));
}

Value& NetworkBuilder::Scalar(float value) {
  return graph_.AddConstant(HostTensor::Of<float>(DType::kF32, {}, {&value, 1}));
}

Value& NetworkBuilder::Op(std::string_view op, std::vector<Value*> inputs, Attrs attrs) {
  Node& node = graph_.AddNode({.op = std::string(op),
                               .inputs = std::move(inputs),
                               .attrs = std::move(attrs),
                               .name = absl::StrCat(absl::AsciiStrToLower(op), graph_.node_ids())});
  CHECK_OK(inference_.Infer(node)) << Where(node);
  return node.output(0);
}

Value& NetworkBuilder::Conv(Value& x, int64_t channels, SlidingWindow window, int64_t groups) {
  Value& weight = Weight({channels, x.dim(1) / groups, window.height, window.width});
  Attrs attrs = WindowAttrs(window);
  attrs.Set("group", groups);
  return Op("Conv", {&x, &weight, &Weight({channels})}, std::move(attrs));
}

Value& NetworkBuilder::ConvTranspose(Value& x, int64_t channels, int64_t kernel_and_stride) {
  const SlidingWindow window =
      SlidingWindow::Square(kernel_and_stride, kernel_and_stride, /*valid=*/true);
  Value& weight = Weight({x.dim(1), channels, kernel_and_stride, kernel_and_stride});
  return Op("ConvTranspose", {&x, &weight, &Weight({channels})}, WindowAttrs(window));
}

Value& NetworkBuilder::BatchNorm(Value& x) {
  std::vector<float> ones(x.dim(1), 1.0F);
  const HostTensor variance = HostTensor::Of<float>(DType::kF32, {x.dim(1)}, ones);
  const Dims dims = {x.dim(1)};
  return Op("BatchNormalization", {&x, &graph_.AddConstant(variance), &Weight(dims), &Weight(dims),
                                   &graph_.AddConstant(variance)});
}

Value& NetworkBuilder::Pool(std::string_view op, Value& x, SlidingWindow window) {
  return Op(op, {&x}, WindowAttrs(window));
}

Value& NetworkBuilder::Concat(std::vector<Value*> inputs, int64_t axis) {
  return Op("Concat", std::move(inputs), {{"axis", axis}});
}

Value& NetworkBuilder::Linear(Value& x, int64_t features) {
  Value& product = Op("MatMul", {&x, &Weight({x.dim(x.rank() - 1), features})});
  return Sum(product, Weight({features}));
}

Value& NetworkBuilder::Reshape(Value& x, absl::Span<const int64_t> dims) {
  return Op("Reshape", {&x, &Ints(dims)});
}

Value& NetworkBuilder::Transpose(Value& x, absl::Span<const int64_t> order) {
  return Op("Transpose", {&x}, {{"perm", Ints64(order.begin(), order.end())}});
}

Value& NetworkBuilder::Classify(Value& x, int64_t classes) {
  Value& flat = Op("Flatten", {&Op("GlobalAveragePool", {&x})});
  return Op("Gemm", {&flat, &Weight({classes, flat.dim(1)}), &Weight({classes})},
            {{"transB", int64_t{1}}});
}

}  // namespace onnx_cudnn
