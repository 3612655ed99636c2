#include "passes/rewrite/float_constants.h"

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

std::optional<HostTensor> ScaleRows(const HostTensor& weights, absl::Span<const double> scales) {
  return VisitElementType(weights.dtype(), [&](auto tag) -> std::optional<HostTensor> {
    using T = decltype(tag);
    HostTensor tensor = HostTensor::Allocate(weights.dtype(), weights.dims());
    const T* from = weights.data<T>().data();
    T* to = tensor.mutable_data<T>().data();
    const size_t row = scales.empty() ? 0 : weights.elements() / scales.size();
    bool finite = true;  // no way out of the loop: it is a vector loop then
    for (const double scale : scales) {
      for (size_t i = 0; i < row; ++i) {
        to[i] = Narrow<T>(Widen<double>(from[i]) * scale);
        finite &= std::isfinite(Widen<double>(to[i]));
      }
      from += row;
      to += row;
    }
    if (!finite) return std::nullopt;
    return tensor;
  });
}

}  // namespace onnx_cudnn
