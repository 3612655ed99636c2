#include "tests/support/networks.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "tests/support/network_builder.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kClasses = 1000;

// A NetworkBuilder for images with a channel divisor (smaller networks for tests).
class ImageNetwork : public NetworkBuilder {
 public:
  ImageNetwork(std::string_view name, const NetworkSize& size)
      : NetworkBuilder(name), size_(size) {}
  Value& Image() { return Input("image", {size_.batch, 3, size_.image, size_.image}); }
  int64_t Share(int64_t channels) const { return channels / size_.channel_share; }
  Value& ConvRelu(Value& x, int64_t channels, SlidingWindow window = {}) {
    return Relu(Conv(x, Share(channels), window));
  }

 private:
  const NetworkSize size_;
};

// ── ResNet ──

class ResNetBuilder : public ImageNetwork {
 public:
  using ImageNetwork::ImageNetwork;

  // The output of each stage.
  std::vector<Value*> Stages(const std::vector<int>& blocks, bool bottleneck) {
    Value* x = &ConvRelu(Image(), 64, SlidingWindow::Square(7, 2));
    x = &Pool("MaxPool", *x, SlidingWindow::Square(3, 2));
    std::vector<Value*> stages;
    for (size_t stage = 0; stage < blocks.size(); ++stage) {
      for (int i = 0; i < blocks[stage]; ++i) {
        const int64_t stride = stage > 0 && i == 0 ? 2 : 1;
        x = &Block(*x, int64_t{64} << stage, stride, bottleneck);
      }
      stages.push_back(x);
    }
    return stages;
  }

 private:
  Value& Block(Value& x, int64_t width, int64_t stride, bool bottleneck) {
    const int64_t out = bottleneck ? 4 * width : width;
    Value* y = &x;
    if (bottleneck) y = &ConvRelu(*y, width);
    y = &ConvRelu(*y, width, SlidingWindow::Square(3, stride));
    y = &Conv(*y, Share(out), bottleneck ? SlidingWindow() : SlidingWindow::Square(3));
    const bool same = stride == 1 && x.dim(1) == y->dim(1);
    return Relu(Sum(*y, same ? x : Conv(x, Share(out), SlidingWindow::Square(1, stride))));
  }
};

Graph ResNet(std::string_view name, const NetworkSize& size, const std::vector<int>& blocks,
             bool bottleneck) {
  ResNetBuilder builder(name, size);
  builder.Output("logits", builder.Classify(*builder.Stages(blocks, bottleneck).back(), kClasses));
  return std::move(builder).Finish();
}

// ── Inception v3 ──

class InceptionBuilder : public ImageNetwork {
 public:
  using ImageNetwork::ImageNetwork;

  Value& Stem() {
    Value* x = &ConvRelu(Image(), 32, SlidingWindow::Square(3, 2, /*valid=*/true));
    x = &ConvRelu(*x, 32, SlidingWindow::Square(3, 1, /*valid=*/true));
    x = &ConvRelu(*x, 64, SlidingWindow::Square(3));
    x = &Pool("MaxPool", *x, SlidingWindow::Square(3, 2, /*valid=*/true));
    x = &ConvRelu(*x, 80);
    x = &ConvRelu(*x, 192, SlidingWindow::Square(3, 1, /*valid=*/true));
    return Pool("MaxPool", *x, SlidingWindow::Square(3, 2, /*valid=*/true));
  }

  Value& ModuleA(Value& x, int64_t pool_channels) {
    Value& b5 = ConvRelu(ConvRelu(x, 48), 64, SlidingWindow::Square(5));
    Value& b3 = ConvRelu(ConvRelu(x, 64), 96, SlidingWindow::Square(3));
    return Concat({&ConvRelu(x, 64), &b5, &ConvRelu(b3, 96, SlidingWindow::Square(3)),
                   &Pooled(x, pool_channels)});
  }
  Value& ReduceB(Value& x) {
    Value& b3 = ConvRelu(ConvRelu(x, 64), 96, SlidingWindow::Square(3));
    return Concat({&ConvRelu(x, 384, kHalve), &ConvRelu(b3, 96, kHalve), &MaxHalf(x)});
  }
  Value& ModuleC(Value& x, int64_t width) {
    Value& b7 = ConvRelu(ConvRelu(ConvRelu(x, width), width, kWide), 192, kTall);
    Value* d7 = &ConvRelu(x, width);
    for (const SlidingWindow& window : {kTall, kWide, kTall}) d7 = &ConvRelu(*d7, width, window);
    return Concat({&ConvRelu(x, 192), &b7, &ConvRelu(*d7, 192, kWide), &Pooled(x, 192)});
  }
  Value& ReduceD(Value& x) {
    Value& b3 = ConvRelu(ConvRelu(x, 192), 320, kHalve);
    Value& b7 = ConvRelu(ConvRelu(ConvRelu(x, 192), 192, kWide), 192, kTall);
    return Concat({&b3, &ConvRelu(b7, 192, kHalve), &MaxHalf(x)});
  }
  Value& ModuleE(Value& x) {
    Value& b3 = ConvRelu(x, 384);
    Value& d3 = ConvRelu(ConvRelu(x, 448), 384, SlidingWindow::Square(3));
    return Concat({&ConvRelu(x, 320), &Split3(b3), &Split3(d3), &Pooled(x, 192)});
  }

 private:
  static constexpr SlidingWindow kWide = {1, 7}, kTall = {7, 1};
  static constexpr SlidingWindow kHalve = {3, 3, 2, true};

  Value& Pooled(Value& x, int64_t channels) {
    return ConvRelu(Pool("AveragePool", x, SlidingWindow::Square(3)), channels);
  }
  Value& MaxHalf(Value& x) { return Pool("MaxPool", x, kHalve); }
  Value& Split3(Value& x) { return Concat({&ConvRelu(x, 384, {1, 3}), &ConvRelu(x, 384, {3, 1})}); }
};

// ── DenseNet ──

class DenseNetBuilder : public ImageNetwork {
 public:
  using ImageNetwork::ImageNetwork;

  Value& Features(const std::vector<int>& blocks) {
    Value* x = &ConvRelu(Image(), 64, SlidingWindow::Square(7, 2));
    x = &Pool("MaxPool", *x, SlidingWindow::Square(3, 2));
    for (size_t i = 0; i < blocks.size(); ++i) {
      x = &Block(*x, blocks[i]);
      if (i + 1 < blocks.size()) x = &Transition(*x);
    }
    return Relu(BatchNorm(*x));
  }

 private:
  static constexpr int64_t kGrowth = 32;

  Value& Block(Value& x, int layers) {
    std::vector<Value*> features = {&x};
    for (int i = 0; i < layers; ++i) {
      Value& all = features.size() == 1 ? x : Concat(features);
      Value& narrow = ConvRelu(Relu(BatchNorm(all)), 4 * kGrowth);
      features.push_back(&Conv(narrow, Share(kGrowth), SlidingWindow::Square(3)));
    }
    return Concat(features);
  }
  Value& Transition(Value& x) {
    Value& half = Conv(Relu(BatchNorm(x)), x.dim(1) / 2);
    return Pool("AveragePool", half, SlidingWindow::Square(2, 2, /*valid=*/true));
  }
};

// ── RetinaNet ──

class RetinaNetBuilder : public ResNetBuilder {
 public:
  using ResNetBuilder::ResNetBuilder;

  // Levels with strides 8 to 128.
  std::vector<Value*> Pyramid() {
    const std::vector<Value*> c = Stages({3, 4, 6, 3}, /*bottleneck=*/true);
    Value* top = &Conv(*c[3], Share(256));
    std::vector<Value*> levels = {&Conv(*top, Share(256), SlidingWindow::Square(3))};
    for (const int stage : {2, 1}) {
      top = &Sum(Conv(*c[stage], Share(256)), Twice(*top));
      levels.insert(levels.begin(), &Conv(*top, Share(256), SlidingWindow::Square(3)));
    }
    levels.push_back(&Conv(*c[3], Share(256), SlidingWindow::Square(3, 2)));
    levels.push_back(&Conv(Relu(*levels.back()), Share(256), SlidingWindow::Square(3, 2)));
    return levels;
  }

  // One row of `columns` per anchor, over all levels.
  Value& Head(const std::vector<Value*>& levels, int64_t columns) {
    std::vector<Value*> rows;
    for (Value* level : levels) {
      Value* x = level;
      for (int i = 0; i < 4; ++i) x = &ConvRelu(*x, 256, SlidingWindow::Square(3));
      x = &Conv(*x, kAnchors * columns, SlidingWindow::Square(3));
      rows.push_back(&Reshape(Transpose(*x, {0, 2, 3, 1}), {x->dim(0), -1, columns}));
    }
    return Concat(rows);
  }

 private:
  static constexpr int64_t kAnchors = 9;

  Value& Twice(Value& x) {
    return Op("Resize",
              {&x, nullptr, nullptr, &Ints({x.dim(0), x.dim(1), 2 * x.dim(2), 2 * x.dim(3)})},
              {{"mode", std::string("nearest")}});
  }
};

// ── NASNet ──

class NasNetBuilder : public ImageNetwork {
 public:
  using ImageNetwork::ImageNetwork;

  struct Cells {
    Value* before;
    Value* last;
  };

  Cells Stem() {
    Value& x = Conv(Image(), Share(32), SlidingWindow::Square(3, 2));
    return {&x, &x};
  }
  Cells Normal(Cells cells, int64_t width) {
    const auto [h, x] = Fit(cells, width);
    Value& a = Sum(Separable(*x, 3, 1), *x);
    Value& b = Sum(Separable(*h, 3, 1), Separable(*x, 5, 1));
    Value& c = Sum(Average(*x, 1), *h);
    Value& d = Sum(Average(*h, 1), Average(*h, 1));
    Value& e = Sum(Separable(*h, 5, 1), Separable(*h, 3, 1));
    return {cells.last, &Concat({h, &a, &b, &c, &d, &e})};
  }
  Cells Reduction(Cells cells, int64_t width) {
    const auto [h, x] = Fit(cells, width);
    Value& a = Sum(Separable(*x, 5, 2), Separable(*h, 7, 2));
    Value& b = Sum(Pool("MaxPool", *x, SlidingWindow::Square(3, 2)), Separable(*h, 7, 2));
    Value& c = Sum(Average(*x, 2), Separable(*h, 5, 2));
    Value& d = Sum(Average(a, 1), b);
    Value& e = Sum(Pool("MaxPool", *x, SlidingWindow::Square(3, 2)), Separable(a, 3, 1));
    return {cells.last, &Concat({&b, &c, &d, &e})};
  }

 private:
  // Brings both to the same size: the older one may be twice as large.
  Cells Fit(Cells cells, int64_t width) {
    const int64_t stride = cells.before->dim(2) / cells.last->dim(2);
    Value& h = Conv(Relu(*cells.before), Share(width), SlidingWindow::Square(1, stride));
    return {&h, &Conv(Relu(*cells.last), Share(width))};
  }
  Value& Separable(Value& x, int64_t kernel, int64_t stride) {
    Value* y = &x;
    for (const int64_t s : {stride, int64_t{1}}) {
      y = &Conv(Relu(*y), x.dim(1), SlidingWindow::Square(kernel, s), x.dim(1));
      y = &Conv(*y, x.dim(1));
    }
    return *y;
  }
  Value& Average(Value& x, int64_t stride) {
    return Pool("AveragePool", x, SlidingWindow::Square(3, stride));
  }
};

// ── Transformer ──

class TransformerBuilder : public NetworkBuilder {
 public:
  explicit TransformerBuilder(const TransformerSize& size)
      : NetworkBuilder("transformer"), size_(size), width_(size.heads * size.head_size) {}

  void Layers() {
    Value* x = &Input("hidden", {1, size_.tokens, width_});
    for (int layer = 0; layer < size_.layers; ++layer) x = &Layer(*x, layer);
    Output("last_hidden", Norm(*x));
  }

 private:
  Value& Layer(Value& x, int layer) {
    Value& normed = Norm(x);
    Value& queries = Heads(Linear(normed, width_));
    Value& keys = Cached(Heads(Linear(normed, width_)), absl::StrCat("key", layer));
    Value& values = Cached(Heads(Linear(normed, width_)), absl::StrCat("value", layer));
    Value& scores = Op("MatMul", {&queries, &Transpose(keys, {0, 1, 3, 2})});
    Value& weights = Op("Softmax", {&Op("Mul", {&scores, &Scalar(0.125F)})});
    Value& mixed = Transpose(Op("MatMul", {&weights, &values}), {0, 2, 1, 3});
    Value& attended = Sum(x, Linear(Reshape(mixed, {1, size_.tokens, width_}), width_));
    Value& wide = Op("Gelu", {&Linear(Norm(attended), 4 * width_)});
    return Sum(attended, Linear(wide, width_));
  }
  Value& Norm(Value& x) {
    return Op("LayerNormalization", {&x, &Weight({width_}), &Weight({width_})});
  }
  Value& Heads(Value& x) {
    return Transpose(Reshape(x, {1, size_.tokens, size_.heads, size_.head_size}), {0, 2, 1, 3});
  }
  // The cached input with `now` appended; the result is an output.
  Value& Cached(Value& now, const std::string& name) {
    Value& past = Input("past_" + name, {1, size_.heads, size_.past, size_.head_size});
    Value& present = Concat({&past, &now}, 2);
    Output("present_" + name, present);
    return present;
  }

  const TransformerSize size_;
  const int64_t width_;
};

}  // namespace

Graph ResNet18(const NetworkSize& size) { return ResNet("resnet18", size, {2, 2, 2, 2}, false); }
Graph ResNet50(const NetworkSize& size) { return ResNet("resnet50", size, {3, 4, 6, 3}, true); }

Graph Inception(const NetworkSize& size) {
  InceptionBuilder builder("inception", size);
  Value* x = &builder.Stem();
  for (const int64_t channels : {32, 64, 64}) x = &builder.ModuleA(*x, channels);
  x = &builder.ReduceB(*x);
  for (const int64_t width : {128, 160, 160, 192}) x = &builder.ModuleC(*x, width);
  x = &builder.ReduceD(*x);
  for (int i = 0; i < 2; ++i) x = &builder.ModuleE(*x);
  builder.Output("logits", builder.Classify(*x, kClasses));
  return std::move(builder).Finish();
}

Graph DenseNet(const NetworkSize& size) {
  DenseNetBuilder builder("densenet", size);
  builder.Output("logits", builder.Classify(builder.Features({6, 12, 24, 16}), kClasses));
  return std::move(builder).Finish();
}

Graph UNet(const NetworkSize& size) {
  ImageNetwork builder("unet", size);
  const auto twice = [&](Value& x, int64_t channels) -> Value& {
    return builder.ConvRelu(builder.ConvRelu(x, channels, SlidingWindow::Square(3)), channels,
                            SlidingWindow::Square(3));
  };
  std::vector<Value*> skips;
  Value* x = &builder.Image();
  for (const int64_t channels : {64, 128, 256, 512}) {
    skips.push_back(&twice(*x, channels));
    x = &builder.Pool("MaxPool", *skips.back(), SlidingWindow::Square(2, 2, /*valid=*/true));
  }
  x = &twice(*x, 1024);
  for (; !skips.empty(); skips.pop_back()) {
    Value& up = builder.ConvTranspose(*x, x->dim(1) / 2, 2);
    x = &twice(builder.Concat({skips.back(), &up}), up.dim(1) * size.channel_share);
  }
  builder.Output("mask", builder.Op("Sigmoid", {&builder.Conv(*x, 1)}));
  return std::move(builder).Finish();
}

Graph RetinaNet(const NetworkSize& size) {
  RetinaNetBuilder builder("retinanet", size);
  const std::vector<Value*> levels = builder.Pyramid();
  builder.Output("classes", builder.Op("Sigmoid", {&builder.Head(levels, 91)}));
  builder.Output("boxes", builder.Head(levels, 4));
  return std::move(builder).Finish();
}

Graph NasNet(const NetworkSize& size) {
  NasNetBuilder builder("nasnet", size);
  NasNetBuilder::Cells cells = builder.Stem();
  for (const int64_t width : {48, 96, 192}) {
    cells = builder.Reduction(cells, width);
    for (int i = 0; i < 4; ++i) cells = builder.Normal(cells, width);
  }
  builder.Output("logits", builder.Classify(builder.Relu(*cells.last), kClasses));
  return std::move(builder).Finish();
}

Graph Transformer(const TransformerSize& size) {
  TransformerBuilder builder(size);
  builder.Layers();
  return std::move(builder).Finish();
}

Graph InHalves(Graph graph) {
  for (Value* v : graph.Values()) {
    if (v->dtype() != DType::kF32) continue;
    if (v->is_constant()) {
      HostTensor zeros = HostTensor::Allocate(DType::kF16, v->dims());
      std::fill_n(static_cast<std::byte*>(zeros.mutable_raw()), zeros.bytes(), std::byte{0});
      graph.ReplaceAllUses(*v, graph.AddConstant(zeros));
    } else {
      graph.SetType(*v, Type::Tensor(DType::kF16, v->dims()));
    }
  }
  return graph;
}

std::vector<NamedNetwork> AllNetworks() {
  return {{"resnet18", [] { return ResNet18(); }},
          {"resnet50", [] { return ResNet50(); }},
          {"inception", [] { return Inception(); }},
          {"densenet", [] { return DenseNet(); }},
          {"unet", [] { return UNet(); }},
          {"retinanet", [] { return RetinaNet(); }},
          {"transformer", [] { return Transformer(); }},
          {"nasnet", [] { return NasNet(); }}};
}

}  // namespace onnx_cudnn
