#include "runtime/kernels/cuda/conv/register_operand.h"

#include <algorithm>
#include <utility>

#include "runtime/graph/float16.h"

namespace onnx_cudnn {
namespace {

constexpr int kFilters = 64;
constexpr int kThreads = 128;  // per warpgroup
constexpr int kWords = 4;      // registers per thread and step

using IndexOf = std::function<int64_t(int step, int k)>;

float FloatAt(const HostTensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kF16:
      return ToFloat(tensor.data<Float16>()[i]);
    case DType::kBF16:
      return ToFloat(tensor.data<BFloat16>()[i]);
    default:
      return tensor.data<float>()[i];
  }
}

// wgmma.cuh describes which elements a thread holds.
template <typename Bits>
HostTensor Fragments(const HostTensor& weight, int steps, const IndexOf& index) {
  constexpr int kOfAWord = 4 / sizeof(Bits);
  const int64_t per_filter = weight.elements() / kFilters;
  const absl::Span<const Bits> from = weight.data<Bits>();
  HostTensor made =
      HostTensor::Allocate(weight.dtype(), {int64_t{steps} * kThreads * kWords * kOfAWord});
  Bits* to = made.mutable_data<Bits>().data();
  for (int step = 0; step < steps; ++step) {
    for (int thread = 0; thread < kThreads; ++thread) {
      for (int e = 0; e < kWords * kOfAWord; ++e) {
        const int word = e / kOfAWord;
        const int filter = thread / 32 * 16 + thread % 32 / 4 + word % 2 * 8;
        const int k = (thread % 4 + word / 2 * 4) * kOfAWord + e % kOfAWord;
        const int64_t i = index(step, k);
        *to++ = i < 0 ? Bits{0} : WgmmaBits(from[filter * per_filter + i]);
      }
    }
  }
  return made;
}

template <typename Bits>
Derived OperandOf(int weight, int steps, std::string recipe, IndexOf index) {
  constexpr int64_t kStep = kThreads * kWords * 4 / sizeof(Bits);
  return {.from = {weight},
          .recipe = std::move(recipe),
          .to = Format::RowMajor({steps * kStep}),
          .make = [steps, index = std::move(index)](absl::Span<const HostTensor> sources)
              -> absl::StatusOr<HostTensor> { return Fragments<Bits>(sources[0], steps, index); }};
}

}  // namespace

Derived RegisterOperand(int weight, int steps, std::string recipe, IndexOf index) {
  return OperandOf<uint16_t>(weight, steps, std::move(recipe), std::move(index));
}

Derived Tf32RegisterOperand(int weight, int steps, std::string recipe, IndexOf index) {
  return OperandOf<uint32_t>(weight, steps, std::move(recipe), std::move(index));
}

Derived FloatBias(int bias, int weight) {
  const bool is_there = bias >= 0;
  return {.from = {is_there ? bias : weight},
          .recipe = is_there ? "to f32" : "64 zeros of f32",
          .to = Format::RowMajor({kFilters}),
          .make = [is_there](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
            HostTensor made = HostTensor::Allocate(DType::kF32, {kFilters});
            for (int i = 0; i < kFilters; ++i) {
              made.mutable_data<float>()[i] = is_there ? FloatAt(sources[0], i) : 0.0F;
            }
            return made;
          }};
}

}  // namespace onnx_cudnn
