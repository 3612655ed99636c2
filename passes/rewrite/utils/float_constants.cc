#include "passes/rewrite/utils/float_constants.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "runtime/base/thread_pool.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements

template <typename T, typename At>
std::optional<HostTensor> Make(DType dtype, Dims dims, At at) {
  HostTensor tensor = HostTensor::Allocate(dtype, std::move(dims));
  absl::Span<T> to = tensor.mutable_data<T>();
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = Narrow<T>(at(i));
    if (!std::isfinite(Widen<double>(to[i]))) return std::nullopt;
  }
  return tensor;
}

}  // namespace

std::vector<double> ToDoubles(const HostTensor& tensor) {
  return VisitElementType(tensor.dtype(), [&](auto tag) {
    std::vector<double> values;
    values.reserve(tensor.elements());
    for (const auto x : tensor.data<decltype(tag)>()) values.push_back(Widen<double>(x));
    return values;
  });
}

std::optional<HostTensor> FromDoubles(DType dtype, Dims dims, absl::Span<const double> values) {
  return VisitElementType(dtype, [&](auto tag) {
    return Make<decltype(tag)>(dtype, std::move(dims), [&](size_t i) { return values[i]; });
  });
}

std::optional<HostTensor> ScaleChannels(const HostTensor& weights, const ChannelAxis& channels,
                                        absl::Span<const double> scales) {
  const Dims& dims = weights.dims();
  const bool is_of_row = channels.axis == 0;
  const int64_t rows = dims[0], columns = is_of_row ? 1 : dims[1];
  const int64_t rows_of_group = std::max<int64_t>(rows / channels.groups, 1);
  return VisitElementType(weights.dtype(), [&](auto tag) -> std::optional<HostTensor> {
    using T = decltype(tag);
    HostTensor tensor = HostTensor::Allocate(weights.dtype(), dims);
    const T* from = weights.data<T>().data();
    T* to = tensor.mutable_data<T>().data();
    const int64_t run = tensor.elements() / std::max<int64_t>(rows * columns, 1);
    std::atomic<bool> all_finite = true;
    ThreadPool::Default().ParallelFor(
        rows * columns, 1 + kGrain / std::max<int64_t>(run, 1), [&](int64_t begin, int64_t end) {
          bool finite = true;  // no early exit, so that the loop vectorizes
          for (int64_t i = begin; i < end; ++i) {
            const int64_t row = i / columns;
            const double scale =
                scales[is_of_row ? row : row / rows_of_group * columns + i % columns];
            for (int64_t k = i * run; k < (i + 1) * run; ++k) {
              to[k] = Narrow<T>(Widen<double>(from[k]) * scale);
              finite &= std::isfinite(Widen<double>(to[k]));
            }
          }
          if (!finite) all_finite = false;
        });
    if (!all_finite) return std::nullopt;
    return tensor;
  });
}

}  // namespace onnx_cudnn
