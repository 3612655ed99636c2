// A convolution that cuts an image of few channels into patches, as vision transformers begin with,
// is a product of the patches' pixels with a matrix. cuDNN pads three channels to eight and
// computes such a convolution ten times as slowly: 16×16 patches of 32 images of 224×224 pixels to
// 768 channels in f16 take 269 to 309 µs on an H100
// (tools/bench/results/plans-2026-11-26-c2f67fa.json), their product, which reads and writes 17 MB,
// a tenth of that.
//
//   Conv(x[N,C,H,W], w[F,C,k,l], b) ⇒ Reshape x to [N,C,H/k,k,W/l,l], Transpose to
//   [N,H/k,W/l,C,k,l], Reshape to [N·H/k·W/l, C·k·l], Gemm with w and b, Reshape to [N,H/k,W/l,F],
//   Transpose to [N,F,H/k,W/l]
#include <algorithm>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/is_op.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

constexpr DTypeSet kTypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr int64_t kMostChannels = 4;   // with more, libraries have fast convolutions
constexpr int64_t kDepthMultiple = 8;  // of the product: rows begin at multiples of 16 bytes
// Pixels in a patch. Both limits are guesses: the record above has 3 channels and 16×16 pixels
// only, and the fewer pixels a patch has, the more the transposes cost compared with the product.
constexpr int64_t kLeastPixels = 16;

bool AreAll(const Ints& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [&](int64_t value) { return value == wanted; });
}

// Whether the Conv's windows lie side by side and cover the image.
bool CutsPatches(const Node& conv) {
  const Value &x = conv.input(0), &w = conv.input(1);
  const Attrs& attrs = conv.attrs();
  const std::string auto_pad = attrs.String("auto_pad", "NOTSET");
  const bool pads = (auto_pad != "NOTSET" && auto_pad != "VALID") || !AreAll(attrs.Ints("pads"), 0);
  if (pads || attrs.Int("group", 1) != 1 || !AreAll(attrs.Ints("dilations"), 1)) return false;
  if (attrs.Ints("strides") != Ints{w.dim(2), w.dim(3)}) return false;
  const std::vector<Dim>& dims = x.type().dims;
  return dims[2].value > 0 && dims[3].value > 0 && dims[2].value % w.dim(2) == 0 &&
         dims[3].value % w.dim(3) == 0;
}

// Pixels are then one axis behind it, and the result is made so that a Transpose of that cancels.
bool OnlyReshapesRead(const Value& value) {
  return !value.is_graph_output() && !value.uses().empty() &&
         std::all_of(value.uses().begin(), value.uses().end(), [](const Use& use) {
           return IsOp(use.node, {"Reshape", "Flatten"});
         });
}

class LowerPatchConvPass final : public NodePass {
 public:
  std::string_view name() const override { return "lower-patch-conv"; }
  bool StartsAt(const Node& node) const override { return has_gpu() && IsOp(&node, {"Conv"}); }
  absl::StatusOr<Match> Visit(Graph& graph, Node& conv) override {
    const Value &x = conv.input(0), &w = conv.input(1);
    if (!kTypes.Has(x.dtype()) || !x.type().ranked || x.rank() != 4 || !w.is_constant()) {
      return Match::None();
    }
    if (w.dim(1) > kMostChannels) return Match::None();
    if (w.elements() == 0 || w.elements() / w.dim(0) % kDepthMultiple != 0) return Match::None();
    if (conv.has_input(2) && !conv.input(2).is_constant()) return Match::None();
    const bool cuts = CutsPatches(conv);
    if (w.dim(2) * w.dim(3) < kLeastPixels) {
      return cuts ? Match::No(conv, "its patches have fewer than 16 pixels") : Match::None();
    }
    if (!cuts) return Match::No(conv, "its windows overlap or do not fill the image");
    Lower(graph, conv);
    return Match::Changed();
  }

 private:
  static void Lower(Graph& graph, Node& conv) {
    Value& x = *conv.inputs()[0];
    const Value& w = conv.input(1);
    const int64_t filters = w.dim(0), channels = w.dim(1), k = w.dim(2), l = w.dim(3);
    const Dim images = x.type().dims[0];
    const int64_t rows = x.type().dims[2].value / k, columns = x.type().dims[3].value / l;
    const auto dim = [](int64_t value) { return Dim{.value = value}; };
    const auto typed = [&](Node& node, std::vector<Dim> dims) -> Value& {
      Type type = x.type();
      type.dims = std::move(dims);
      graph.SetType(node.output(0), std::move(type));
      return node.output(0);
    };
    const auto reshape = [&](Value& value, Ints shape, std::vector<Dim> dims) -> Value& {
      Value& operand = graph.AddConstant(HostTensor::Ints(shape), "shape");
      return typed(graph.AddNode({.op = "Reshape", .inputs = {&value, &operand}}), std::move(dims));
    };
    const auto transpose = [&](Value& value, Ints perm, std::vector<Dim> dims) -> Value& {
      return typed(
          graph.AddNode({.op = "Transpose", .inputs = {&value}, .attrs = {{"perm", perm}}}),
          std::move(dims));
    };
    const Dim of_patch = dim(channels * k * l);
    const Dim patches = images.value < 0 ? Dim{} : dim(images.value * rows * columns);

    Value& cut = reshape(x, {-1, channels, rows, k, columns, l},
                         {images, dim(channels), dim(rows), dim(k), dim(columns), dim(l)});
    Value& moved = transpose(cut, {0, 2, 4, 1, 3, 5},
                             {images, dim(rows), dim(columns), dim(channels), dim(k), dim(l)});
    Value& lines = reshape(moved, {-1, of_patch.value}, {patches, of_patch});
    Value& matrix = graph.AddConstant(w.constant().Reshaped({filters, of_patch.value}), w.name());
    std::vector<Value*> operands = {&lines, &matrix};
    if (conv.has_input(2)) operands.push_back(conv.inputs()[2]);
    Node& gemm = graph.AddNode(
        {.op = "Gemm", .inputs = operands, .attrs = {{"transB", int64_t{1}}}, .name = conv.name()});
    Value& product = typed(gemm, {patches, dim(filters)});
    const std::vector<Dim> dims = {images, dim(filters), dim(rows), dim(columns)};
    if (OnlyReshapesRead(conv.output(0))) {
      const Dim pixels = dim(rows * columns);
      Value& last = reshape(product, {-1, pixels.value, filters}, {images, pixels, dim(filters)});
      Value& planes = transpose(last, {0, 2, 1}, {images, dim(filters), pixels});
      graph.ReplaceAllUses(conv.output(0), reshape(planes, {-1, filters, rows, columns}, dims));
      return;
    }
    Value& last = reshape(product, {-1, rows, columns, filters},
                          {images, dim(rows), dim(columns), dim(filters)});
    graph.ReplaceAllUses(conv.output(0), transpose(last, {0, 3, 1, 2}, dims));
  }
};

}  // namespace

std::unique_ptr<Pass> LowerPatchConv() { return std::make_unique<LowerPatchConvPass>(); }

}  // namespace onnx_cudnn
