#include "passes/rewrite/float_constants.h"

#include <algorithm>
#include <cmath>

#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

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
  const int64_t rows = dims[0], columns = dims[1];
  const int64_t rows_of_group = std::max<int64_t>(rows / channels.groups, 1);
  return VisitElementType(weights.dtype(), [&](auto tag) -> std::optional<HostTensor> {
    using T = decltype(tag);
    HostTensor tensor = HostTensor::Allocate(weights.dtype(), dims);
    const T* from = weights.data<T>().data();
    T* to = tensor.mutable_data<T>().data();
    const int64_t run = tensor.elements() / std::max<int64_t>(rows * columns, 1);
    bool finite = true;  // no way out of the loop: it is a vector loop then
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first_of_group = row / rows_of_group * columns;
      for (int64_t column = 0; column < columns; ++column, from += run, to += run) {
        const double scale = scales[channels.axis == 0 ? row : first_of_group + column];
        for (int64_t k = 0; k < run; ++k) {
          to[k] = Narrow<T>(Widen<double>(from[k]) * scale);
          finite &= std::isfinite(Widen<double>(to[k]));
        }
      }
    }
    if (!finite) return std::nullopt;
    return tensor;
  });
}

}  // namespace onnx_cudnn
