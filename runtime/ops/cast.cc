// Cast and CastLike. Types that exist in C++ use the element-wise op; small types go through f32,
// which represents all their values.
#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/pointwise.h"
#include "runtime/ops/small_types.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kBlock = 1024;  // elements
constexpr int64_t kGrain = 8;     // blocks
constexpr DTypeSet kCastTypes = kFixedSizeTypes | kSmallTypes;

Support CheckCast(const Node& node) {
  const DType to = node.output(0).dtype();
  return kCastTypes.Has(to) ? Support::Yes()
                            : Support::No(absl::StrCat("no conversion to ", NameOf(to)));
}

void LoadNumbers(const TensorRef& in, int64_t begin, int64_t n, float* to) {
  if (kSmallTypes.Has(in.dtype)) return LoadSmall(in.dtype, in.data, begin, n, to);
  VisitElementType(in.dtype, [&](auto element) {
    using E = decltype(element);
    const E* from = static_cast<const E*>(in.data) + begin;
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<E, double>) {
        to[i] = RoundToOdd(from[i]);
      } else {
        to[i] = Widen<float>(from[i]);
      }
    }
  });
}

// Converts a number to a small integer by its low bits, as for other integers.
float Wrapped(DType dtype, int64_t number) {
  const int64_t count = int64_t{1} << BitsOf(dtype);
  const int64_t low = number & (count - 1);
  const bool is_signed = dtype == DType::kI4 || dtype == DType::kI2;
  return static_cast<float>(is_signed && low >= count / 2 ? low - count : low);
}

void LoadWrapped(const TensorRef& in, DType dtype, int64_t begin, int64_t n, float* to) {
  if (kSmallTypes.Has(in.dtype)) {
    LoadSmall(in.dtype, in.data, begin, n, to);
    std::transform(to, to + n, to, [&](float x) { return Wrapped(dtype, ToInt64(x)); });
    return;
  }
  VisitElementType(in.dtype, [&](auto element) {
    const auto* from = static_cast<const decltype(element)*>(in.data) + begin;
    for (int64_t i = 0; i < n; ++i) to[i] = Wrapped(dtype, Widen<int64_t>(from[i]));
  });
}

enum class RoundMode { kUp, kDown, kNearest };

RoundMode RoundModeOf(const Node& node) {
  const std::string mode = node.attrs().String("round_mode", "up");
  if (mode == "down") return RoundMode::kDown;
  return mode == "nearest" ? RoundMode::kNearest : RoundMode::kUp;
}

// The exponent of a number, without its sign; 255 is NaN.
uint8_t EncodeE8M0(float number, RoundMode mode, bool saturate) {
  constexpr uint32_t kHalf = 0x400000, kLargest = 254, kNaN = 255;
  const uint32_t bits = std::bit_cast<uint32_t>(number);
  const uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
  if (exponent == kNaN) return kNaN;
  const bool nearest = fraction > kHalf || (fraction == kHalf && exponent > 0);
  const bool up = mode == RoundMode::kNearest ? nearest : mode == RoundMode::kUp && fraction > 0;
  if (!up || (saturate && exponent == kLargest)) return static_cast<uint8_t>(exponent);
  return static_cast<uint8_t>(exponent + 1);
}

void StoreNumbers(const Node& node, const float* from, int64_t n, const MutableTensorRef& out,
                  int64_t begin) {
  const bool saturate = node.attrs().Int("saturate", 1) != 0;
  if (out.dtype == DType::kF8E8M0) {
    const RoundMode mode = RoundModeOf(node);
    std::transform(from, from + n, static_cast<uint8_t*>(out.data) + begin,
                   [&](float x) { return EncodeE8M0(x, mode, saturate); });
    return;
  }
  if (kSmallTypes.Has(out.dtype)) return StoreSmall(out.dtype, from, n, saturate, out.data, begin);
  VisitElementType(out.dtype, [&](auto element) {
    using E = decltype(element);
    std::transform(from, from + n, static_cast<E*>(out.data) + begin, Narrow<E, float>);
  });
}

absl::Status CastThroughFloat(const ReferenceArgs& args) {
  const TensorRef& in = args.in[0];
  const MutableTensorRef& out = args.out[0];
  if (absl::Status status = ExpectDims("output", out.dims, in.dims); !status.ok()) return status;
  const int64_t n = in.elements();
  args.threads.ParallelFor((n + kBlock - 1) / kBlock, kGrain, [&](int64_t block, int64_t last) {
    float numbers[kBlock];
    for (; block < last; ++block) {
      const int64_t begin = block * kBlock, count = std::min(kBlock, n - begin);
      if (kSmallIntegerTypes.Has(out.dtype)) {
        LoadWrapped(in, out.dtype, begin, count, numbers);
      } else {
        LoadNumbers(in, begin, count, numbers);
      }
      StoreNumbers(args.node, numbers, count, out, begin);
    }
  });
  return absl::OkStatus();
}

absl::Status ReferenceCast(const ReferenceArgs& args) {
  static const auto element_wise = PointwiseOp("Cast").reference;
  const bool small = kSmallTypes.Has(args.in[0].dtype) || kSmallTypes.Has(args.out[0].dtype);
  return small ? CastThroughFloat(args) : element_wise(args);
}

OpDef MakeCast(std::string_view type) {
  OpDef op = PointwiseOp(type);
  op.types = kCastTypes;
  op.check = CheckCast;
  op.reference = ReferenceCast;
  return op;
}

}  // namespace

OpDef CastOp() { return MakeCast("Cast"); }
OpDef CastLikeOp() { return MakeCast("CastLike"); }

}  // namespace onnx_cudnn
