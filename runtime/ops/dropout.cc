// Dropout: the identity at inference; in training it drops elements at random.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/random_draw.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/small_types.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

constexpr double kDefaultRatio = 0.5;
constexpr int64_t kPairsPerThread = 1024;  // at least

// The share of elements to drop; 0 at inference.
absl::StatusOr<double> RatioOf(const ReferenceArgs& args) {
  const bool trains = args.has_in(2) && args.in[2].elements() > 0 &&
                      *static_cast<const uint8_t*>(args.in[2].data) != 0;
  if (!trains) return 0;
  if (!args.has_in(1)) return kDefaultRatio;
  const TensorRef& in = args.in[1];
  if (in.elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("ratio is ", ToString(in.dims), ", expected one element"));
  }
  float small = 0;
  if (kSmallFloatTypes.Has(in.dtype)) LoadSmall(in.dtype, in.data, 0, 1, &small);
  const double ratio =
      kSmallFloatTypes.Has(in.dtype) ? small : VisitElementType(in.dtype, [&](auto element) {
        return Widen<double>(in.as<decltype(element)>()[0]);
      });
  if (ratio >= 0 && ratio < 1) return ratio;
  return absl::InvalidArgumentError(absl::StrCat("ratio ", ratio, " is outside [0, 1)"));
}

template <typename E>
void Drop(const ReferenceArgs& args, double ratio) {
  const RandomDraw draw = RandomDraw::Next(args.node);
  const double scale = 1 / (1 - ratio);
  const absl::Span<const E> from = args.in[0].as<E>();
  const absl::Span<E> to = args.out[0].as<E>();
  uint8_t* const mask = args.has_out(1) ? static_cast<uint8_t*>(args.out[1].data) : nullptr;
  const auto n = static_cast<int64_t>(to.size());
  args.threads.ParallelFor((n + 1) / 2, kPairsPerThread, [&](int64_t begin, int64_t end) {
    for (int64_t pair = begin; pair < end; ++pair) {
      const std::array<double, 2> numbers = draw.Uniforms(pair);
      for (int64_t i = 2 * pair; i < std::min(2 * pair + 2, n); ++i) {
        const bool keeps = numbers[i % 2] >= ratio;
        to[i] = keeps ? Narrow<E>(Widen<double>(from[i]) * scale) : Narrow<E>(0.0);
        if (mask != nullptr) mask[i] = keeps ? 1 : 0;
      }
    }
  });
}

absl::Status ReferenceDropout(const ReferenceArgs& args) {
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, args.in[0].dims));
  ASSIGN_OR_RETURN(const double ratio, RatioOf(args));
  if (ratio == 0) {
    const uint8_t kept = 1;
    if (args.has_out(1))
      FillElements(args.out[1].data, &kept, 1, args.out[1].elements(), args.threads);
    CopyBytes(args.in[0].data, args.out[0].data, args.in[0].bytes(), args.threads);
    return absl::OkStatus();
  }
  VisitElementType(args.out[0].dtype, [&](auto element) { Drop<decltype(element)>(args, ratio); });
  return absl::OkStatus();
}

Support CheckDropout(const Node& node) {
  constexpr DTypeSet kRatioTypes = kFloatTypes | kSmallFloatTypes;
  if (!node.has_input(1) || kRatioTypes.Has(node.input(1).dtype())) return Support::Yes();
  return Support::No(absl::StrCat("ratio is ", NameOf(node.input(1).dtype())));
}

Cost DropoutCost(const Node& node) {
  constexpr int64_t kSteps = 2;  // per number
  return {.us = IsRandom(node) ? ScalarUs(kSteps * node.output(0).elements()) : 0,
          .bytes = IoBytes(node)};
}

}  // namespace

OpDef DropoutOp() {
  return {.check = CheckDropout,
          .reference = ReferenceDropout,
          .cost = DropoutCost,
          .traits = {.keeps_range = true}};
}

}  // namespace onnx_cudnn
