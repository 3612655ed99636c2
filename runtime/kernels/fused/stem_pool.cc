#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/joins.h"
#include "runtime/kernels/common/layouts.h"
#include "runtime/kernels/conv/conv_shapes.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kTypes = kTensorCoreTypes | DTypeSet{DType::kF32};
constexpr int64_t kChannels = 3;
constexpr int64_t kFilters = 64;
constexpr int64_t kWidth = 224;   // a row of the convolution is one side of the product
constexpr int64_t kHeightOf = 4;  // image rows per pooled row

constexpr Rule kOnlyCast = {"its image may be f32 or of its own type, nothing else is done to it",
                            "none: the op before it writes its result"};

// Conv, Relu, MaxPool; each is the only reader of the previous one.
std::vector<std::vector<const Node*>> ToMaxPool(const Node& conv) {
  const Node* relu = conv.output(0).only_reader();
  if (relu == nullptr || relu->op() != "Relu") return {};
  const Node* pool = relu->output(0).only_reader();
  if (pool == nullptr || pool->op() != "MaxPool") return {};
  return {{&conv, relu, pool}};
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
  if (shape->channels != kChannels || shape->filters != kFilters) {
    return Support::No(
        absl::StrCat(shape->channels, " to ", shape->filters, " channels are not 3 to 64"));
  }
  const int64_t height = shape->window.h().in, width = shape->window.w().in;
  if (width != kWidth || height % kHeightOf != 0) {
    return Support::No(absl::StrCat("the image is ", height, " x ", width,
                                    ", not 224 wide and a multiple of 4 high"));
  }
  if (core.boundary.inputs.size() != 1) return Support::No("it has a second operand");
  return CheckMaxPool(*core.nodes.back());
}

const Rule* JoinsAsCast(const GrowthStep& step) {
  if (const Rule* no = JoinsAsProducer(step)) return no;
  const bool is_cast = step.node.op() == "Cast" && step.node.input(0).dtype() == DType::kF32;
  return is_cast ? nullptr : &kOnlyCast;
}

double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const auto& calibration = target.info.calibration.kernels.stem_pool;
  const bool is_f32 = unit.boundary.outputs[0]->dtype() == DType::kF32;
  const MeasuredLine& line = is_f32 ? calibration.tf32 : calibration.half;
  return std::max(line.At(roofline.flops), roofline.us);
}

}  // namespace

// The stem of a ResNet in one launch: 7×7 convolution with stride 2 from 3 to 64 channels, in f16,
// bf16, or f32 in TF32 where that is allowed; bias, ReLU, 3×3 max-pool with stride 2, for images
// 224 wide and a multiple of 4 high. The input is the caller's, row-major, f32 or of the
// convolution's type; the output is channels-last. Intermediate results must have no other readers.
// A NaN counts as the smallest number.
Kernel StemPoolKernel() {
  return {
      .ops = {"Conv"},
      .types = kTypes,
      .needs = kSm90aCode,
      .multiplies_f32_in_tf32 = true,
      .cores = ToMaxPool,
      .takes = TakesStem,
      .growth = [](const Unit&) { return GrowthOptions{.backward = JoinsAsCast, .most_added = 1}; },
      .formats = RowMajorToChannelsLast,
      .pitched = [](const Unit&) { return Pitched::kOutputs; },
      .us = Us};
}

}  // namespace onnx_cudnn
