#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/conv_shapes.h"
#include "runtime/kernels/joins.h"
#include "runtime/kernels/layouts.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostChannels = 4;
constexpr int64_t kFilters = 64;
constexpr size_t kMostBefore = 2;   // element-wise ops: a Cast, a scale
constexpr size_t kMostBetween = 4;  // element-wise ops from the Conv to the MaxPool

// Readings of one H200 (gpu.md, probe11): 7×7, stride 2, 3 to 64 channels at 224×224, f16, ReLU and
// max-pool, at batch 1, 32 and 256 4.7, 15.8 and 98 µs.
constexpr MeasuredLine kMeasured = {.least_us = 4.7, .fixed_us = 4.0, .us_per_gigaflop = 1.556};

const Node* OnlyReader(const Value& value) {
  return value.has_one_use() && !value.uses().empty() ? value.uses()[0].node : nullptr;
}

// Conv, element-wise ops that each have one reader, MaxPool.
std::vector<std::vector<const Node*>> ToMaxPool(const Node& conv) {
  std::vector<const Node*> nodes = {&conv};
  while (nodes.size() < kMostBetween + 2) {
    const Node* next = OnlyReader(nodes.back()->output(0));
    if (next == nullptr) return {};
    nodes.push_back(next);
    if (next->op() == "MaxPool") return {nodes};
    if (!IsPointwise(*next)) return {};
  }
  return {};
}

bool HasWindow(const WindowAxis& axis, int64_t kernel, int64_t stride, int64_t pad) {
  return axis.kernel == kernel && axis.stride == stride && axis.pad_begin == pad;
}

Support CheckMaxPool(const Node& pool) {
  const Attrs& attrs = pool.attrs();
  const std::vector<int64_t> three = {3, 3}, two = {2, 2}, pads = {1, 1, 1, 1};
  const bool fits = !pool.has_output(1) && attrs.Ints("kernel_shape") == three &&
                    attrs.Ints("strides") == two && attrs.Ints("pads") == pads &&
                    attrs.Ints("dilations", {1, 1}) == std::vector<int64_t>{1, 1} &&
                    attrs.Int("ceil_mode", 0) == 0;
  return fits ? Support::Yes() : Support::No("the max-pool is not 3 x 3 with stride 2 and pads 1");
}

Support TakesStem(const Unit& core) {
  const Node& conv = core.node();
  const absl::StatusOr<ConvShape> shape = StaticConvShape(conv);
  if (!shape.ok()) return Support::No(std::string(shape.status().message()));
  if (Support s = CheckTensorCoreConv(conv, *shape); !s) return s;
  if (!HasWindow(shape->window.h(), 7, 2, 3) || !HasWindow(shape->window.w(), 7, 2, 3)) {
    return Support::No("the convolution is not 7 x 7 with stride 2 and pads 3");
  }
  if (shape->channels > kMostChannels || shape->filters != kFilters) {
    return Support::No(
        absl::StrCat(shape->channels, " to ", shape->filters, " channels are not at most 4 to 64"));
  }
  if (core.boundary.inputs.size() != 1) return Support::No("it has a second operand");
  return CheckMaxPool(*core.nodes.back());
}

std::vector<Formats> RowMajorToChannelsLast(const Unit& unit, const Target&) {
  Formats formats;
  for (const Value* v : unit.boundary.inputs) {
    formats.inputs.push_back(InLayout(*v, Layout::kRowMajor));
  }
  for (const Value* v : unit.boundary.outputs) {
    formats.outputs.push_back(InLayout(*v, Layout::kChannelsLast));
  }
  return {formats};
}

double Us(const Unit&, const Cost& roofline, const Target&) {
  return std::max(kMeasured.At(roofline.flops), roofline.us);
}

}  // namespace

// The stem of a ResNet as one: 7×7 convolution with stride 2 of at most four channels to 64, f16 or
// bf16, bias, up to four element-wise ops, max-pool 3×3 with stride 2. The input is the caller's,
// row-major, of any type that up to two element-wise ops before the convolution bring to its own;
// the output channels-last. No other reader may see what lies between.
Kernel StemPoolKernel() {
  return {.name = "stem_pool",
          .ops = {"Conv"},
          .types = kTensorCoreTypes,
          .cores = ToMaxPool,
          .takes = TakesStem,
          .growth =
              [](const Unit&) {
                return GrowthOptions{.backward = JoinsAsProducer, .most_added = kMostBefore};
              },
          .formats = RowMajorToChannelsLast,
          .us = Us};
}

}  // namespace onnx_cudnn
