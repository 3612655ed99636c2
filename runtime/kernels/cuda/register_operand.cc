#include "runtime/kernels/cuda/register_operand.h"

#include <algorithm>
#include <utility>

#include "runtime/graph/float16.h"

namespace onnx_cudnn {
namespace {

constexpr int kFilters = 64;
constexpr int kDepth = 16;     // of a step
constexpr int kThreads = 128;  // of a warpgroup
constexpr int kElements = 8;   // of a thread and step

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

// See wgmma.cuh for where the elements of a thread stand.
HostTensor Fragments(const HostTensor& weight, int steps,
                     const std::function<int64_t(int, int)>& index) {
  const int64_t per_filter = weight.elements() / kFilters;
  const absl::Span<const uint16_t> from = weight.data<uint16_t>();
  HostTensor made = HostTensor::Allocate(weight.dtype(), {int64_t{steps} * kThreads * kElements});
  uint16_t* to = made.mutable_data<uint16_t>().data();
  for (int step = 0; step < steps; ++step) {
    for (int thread = 0; thread < kThreads; ++thread) {
      for (int e = 0; e < kElements; ++e) {
        const int filter = thread / 32 * 16 + thread % 32 / 4 + e / 2 % 2 * 8;
        const int k = thread % 4 * 2 + e % 2 + e / 4 * 8;
        const int64_t i = index(step, k);
        *to++ = i < 0 ? uint16_t{0} : from[filter * per_filter + i];
      }
    }
  }
  return made;
}

}  // namespace

Derived RegisterOperand(int weight, int steps, std::string recipe,
                        std::function<int64_t(int step, int k)> index) {
  return {.from = {weight},
          .recipe = std::move(recipe),
          .to = Format::RowMajor({int64_t{steps} * kThreads * kElements}),
          .make = [steps, index = std::move(index)](absl::Span<const HostTensor> sources)
              -> absl::StatusOr<HostTensor> { return Fragments(sources[0], steps, index); }};
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
