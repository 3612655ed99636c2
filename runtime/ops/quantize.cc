// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. Blocks of elements are computed in
// double, where sums and products of narrower types are exact, and rounded once.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/saturate.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/small_types.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kBlock = 1024;  // elements
constexpr DTypeSet kScaleTypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr DTypeSet kWholeTypes = {DType::kU8, DType::kI8, DType::kU16, DType::kI16};
constexpr DTypeSet kQuantizedTypes = kWholeTypes | kSmallIntegerTypes |
                                     DTypeSet{DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2,
                                              DType::kF8E5M2FNUZ, DType::kF4E2M1};

void Load(DType dtype, const void* tensor, int64_t begin, int64_t n, double* to) {
  if (kSmallTypes.Has(dtype)) {
    float numbers[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t count = std::min(kBlock, n - i);
      LoadSmall(dtype, tensor, begin + i, count, numbers);
      std::copy_n(numbers, count, to + i);
    }
    return;
  }
  VisitElementType(dtype, [&](auto element) {
    const auto* from = static_cast<const decltype(element)*>(tensor) + begin;
    for (int64_t i = 0; i < n; ++i) to[i] = Widen<double>(from[i]);
  });
}

std::vector<double> LoadAll(const TensorRef& tensor) {
  std::vector<double> numbers(tensor.elements());
  Load(tensor.dtype, tensor.data, 0, tensor.elements(), numbers.data());
  return numbers;
}

// The scale of each element. Elements form rows of `run`; the scales of one row are `step` apart.
struct Granularity {
  int64_t run = 1, step = 0;
  int64_t rows = 1, block = 1;  // rows with scales of their own; rows that share them
  int64_t outer_step = 0, row_step = 0;

  int64_t First(int64_t row) const {
    return row / rows * outer_step + row % rows / block * row_step;
  }
};

Granularity PerAxis(const AxisView& view) {
  if (view.inner == 1) return {.run = view.extent, .step = 1};
  return {.run = view.inner, .rows = view.extent, .row_step = 1};
}

Granularity Blocked(const AxisView& view, int64_t block, int64_t count) {
  return {.run = view.inner,
          .step = 1,
          .rows = view.extent,
          .block = block,
          .outer_step = count * view.inner,
          .row_step = view.inner};
}

absl::StatusOr<Granularity> GranularityOf(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims, scale = args.in[1].dims;
  if (args.in[1].elements() == 1 && (!args.has_in(2) || args.in[2].elements() == 1))
    return Granularity{.run = std::max<int64_t>(1, ElementsOf(dims))};
  if (args.has_in(2)) RETURN_IF_ERROR(ExpectDims("zero point", args.in[2].dims, scale));
  const int64_t rank = static_cast<int64_t>(dims.size());
  const int64_t named = args.node.attrs().Int("axis", 1);
  if (named < -rank || named >= rank) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", named, " is outside rank ", rank));
  }
  const int64_t axis = NormalizedAxis(named, rank);
  const int64_t block = args.node.attrs().Int("block_size", 0);
  if (block == 0) {
    RETURN_IF_ERROR(ExpectDims("scale", scale, {dims[axis]}));
    return PerAxis(ViewAround(dims, axis));
  }
  Dims blocks(dims.begin(), dims.end());
  blocks[axis] = dims[axis] == 0 ? 0 : (dims[axis] - 1) / block + 1;
  RETURN_IF_ERROR(ExpectDims("scale", scale, blocks));
  return Blocked(ViewAround(dims, axis), block, blocks[axis]);
}

struct Parameters {
  Granularity granularity;
  std::vector<double> scales, zeros;
};

absl::StatusOr<Parameters> ParametersOf(const ReferenceArgs& args) {
  Parameters parameters;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, args.in[0].dims));
  ASSIGN_OR_RETURN(parameters.granularity, GranularityOf(args));
  parameters.scales = LoadAll(args.in[1]);
  parameters.zeros.resize(parameters.scales.size(), 0);
  if (args.has_in(2)) parameters.zeros = LoadAll(args.in[2]);
  return parameters;
}

// numbers[i] = f(numbers[i], scale, zero) for the elements [begin, begin + n).
template <typename F>
void Apply(const Parameters& parameters, int64_t begin, int64_t n, double* numbers, F&& f) {
  const Granularity& g = parameters.granularity;
  for (int64_t i = 0; i < n;) {
    const int64_t row = (begin + i) / g.run, column = (begin + i) % g.run;
    int64_t at = g.First(row) + column * g.step;
    const int64_t end = std::min(n, i + g.run - column);
    for (; i < end; ++i, at += g.step)
      numbers[i] = f(numbers[i], parameters.scales[at], parameters.zeros[at]);
  }
}

void Store(const double* from, int64_t n, bool saturate, const MutableTensorRef& out,
           int64_t begin) {
  if (kSmallTypes.Has(out.dtype)) {
    float numbers[kBlock];
    std::transform(from, from + n, numbers, RoundToOdd);
    return StoreSmall(out.dtype, numbers, n, saturate, out.data, begin);
  }
  VisitElementType(out.dtype, [&](auto element) {
    using E = decltype(element);
    E* to = static_cast<E*>(out.data) + begin;
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_integral_v<E>) {
        to[i] = Saturate<E>(from[i]);
      } else {
        to[i] = Narrow<E>(from[i]);
      }
    }
  });
}

// out = f(in, scale, zero), element by element.
template <typename F>
absl::Status Run(const ReferenceArgs& args, F&& f) {
  ASSIGN_OR_RETURN(const Parameters parameters, ParametersOf(args));
  const bool saturate = args.node.attrs().Int("saturate", 1) != 0;
  const int64_t n = args.in[0].elements();
  args.threads.ParallelFor((n + kBlock - 1) / kBlock, 8, [&](int64_t first, int64_t last) {
    double numbers[kBlock];
    for (int64_t begin = first * kBlock; begin < std::min(n, last * kBlock); begin += kBlock) {
      const int64_t count = std::min(kBlock, n - begin);
      Load(args.in[0].dtype, args.in[0].data, begin, count, numbers);
      Apply(parameters, begin, count, numbers, f);
      Store(numbers, count, saturate, args.out[0], begin);
    }
  });
  return absl::OkStatus();
}

// The type that the division is rounded to.
DType PrecisionOf(const Node& node) {
  const DType scale = node.input(1).dtype();
  const DType otherwise = kScaleTypes.Has(scale) ? scale : DType::kF32;
  const int64_t named = node.attrs().Int("precision", 0);
  if (named < 0 || named > kLastDType) return DType::kUndefined;
  return named == 0 ? otherwise : static_cast<DType>(named);
}

template <typename P>
absl::Status QuantizeIn(const ReferenceArgs& args, bool integers) {
  const auto round = [](double number) { return Widen<double>(Narrow<P>(number)); };
  return Run(args, [=](double x, double scale, double zero) {
    const double quotient = round(round(x) / round(scale));
    if (integers) return std::nearbyint(quotient) + zero;
    return zero == 0 ? quotient : quotient + zero;  // preserves the sign of zero
  });
}

absl::Status ReferenceQuantizeLinear(const ReferenceArgs& args) {
  const bool integers = !kSmallFloatTypes.Has(args.out[0].dtype);
  switch (PrecisionOf(args.node)) {
    case DType::kF16:
      return QuantizeIn<Float16>(args, integers);
    case DType::kBF16:
      return QuantizeIn<BFloat16>(args, integers);
    default:
      return QuantizeIn<float>(args, integers);
  }
}

absl::Status ReferenceDequantizeLinear(const ReferenceArgs& args) {
  return Run(args, [](double x, double scale, double zero) { return (x - zero) * scale; });
}

Support CheckParameters(const Node& node, DTypeSet scales, DTypeSet quantized, const Value& value) {
  if (!quantized.Has(value.dtype()))
    return Support::No(absl::StrCat(NameOf(value.dtype()), " is not implemented"));
  const DType scale = node.input(1).dtype();
  if (!scales.Has(scale))
    return Support::No(absl::StrCat("a scale of ", NameOf(scale), " is not implemented"));
  if (node.attrs().Int("block_size", 0) < 0) return Support::No("block_size is negative");
  if (!node.has_input(2) || node.input(2).dtype() == value.dtype()) return Support::Yes();
  return Support::No(absl::StrCat("the zero point is ", NameOf(node.input(2).dtype()), ", not ",
                                  NameOf(value.dtype())));
}

Support CheckQuantizeLinear(const Node& node) {
  if (!kScaleTypes.Has(PrecisionOf(node)))
    return Support::No(
        absl::StrCat("a precision of ", NameOf(PrecisionOf(node)), " is not implemented"));
  return CheckParameters(node, kScaleTypes | DTypeSet{DType::kF8E8M0, DType::kI32}, kQuantizedTypes,
                         node.output(0));
}

Support CheckDequantizeLinear(const Node& node) {
  if (!kScaleTypes.Has(node.output(0).dtype()))
    return Support::No(
        absl::StrCat("an output of ", NameOf(node.output(0).dtype()), " is not implemented"));
  return CheckParameters(node, kScaleTypes | DTypeSet{DType::kF8E8M0},
                         kQuantizedTypes | DTypeSet{DType::kI32}, node.input(0));
}

// Scale and zero point that map the range of x, extended to include 0, to the range of u8.
absl::Status ReferenceDynamicQuantizeLinear(const ReferenceArgs& args) {
  constexpr float kLevels = 255;
  float low = 0, high = 0;
  for (float x : args.in[0].as<float>()) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  const float scale = (high - low) / kLevels;
  const uint8_t zero = scale == 0 ? 0 : Saturate<uint8_t>(std::nearbyint(-low / scale));
  if (args.has_out(1)) *static_cast<float*>(args.out[1].data) = scale;
  if (args.has_out(2)) *static_cast<uint8_t*>(args.out[2].data) = zero;
  if (!args.has_out(0)) return absl::OkStatus();
  const absl::Span<const float> x = args.in[0].as<float>();
  uint8_t* y = static_cast<uint8_t*>(args.out[0].data);
  args.threads.ParallelFor(args.in[0].elements(), GrainFor(1), [&](int64_t i, int64_t end) {
    for (; i < end; ++i)
      y[i] = scale == 0 ? zero : Saturate<uint8_t>(std::nearbyint(x[i] / scale) + zero);
  });
  return absl::OkStatus();
}

Support CheckDynamicQuantizeLinear(const Node& node) {
  if (node.has_output(0) && node.output(0).dtype() != DType::kU8)
    return Support::No(absl::StrCat("output is ", NameOf(node.output(0).dtype())));
  return Support::Yes();
}

Cost QuantizeCost(const Node& node) {
  const int64_t elements = node.input(0).elements();
  const int64_t rounded = node.op() == "DequantizeLinear" ? 0 : elements;
  return {.us = ScalarUs(rounded), .flops = 3 * elements, .bytes = IoBytes(node)};
}

OpDef QuantizingOp(DTypeSet types, decltype(OpDef::check) check,
                   decltype(OpDef::reference) reference) {
  return {.types = types, .check = check, .reference = reference, .cost = QuantizeCost};
}

}  // namespace

OpDef QuantizeLinearOp() {
  return QuantizingOp(kScaleTypes | DTypeSet{DType::kI32}, CheckQuantizeLinear,
                      ReferenceQuantizeLinear);
}
OpDef DequantizeLinearOp() {
  OpDef op = QuantizingOp(kQuantizedTypes | DTypeSet{DType::kI32}, CheckDequantizeLinear,
                          ReferenceDequantizeLinear);
  op.traits.cheap_to_clone = true;
  return op;
}
OpDef DynamicQuantizeLinearOp() {
  return QuantizingOp({DType::kF32}, CheckDynamicQuantizeLinear, ReferenceDynamicQuantizeLinear);
}

}  // namespace onnx_cudnn
