#include "passes/rewrite/float_constants.h"

#include <bit>
#include <cmath>

#include "absl/log/check.h"
#include "runtime/graph/float16.h"

namespace onnx_cudnn {
namespace {

// Rounds to odd, so that rounding the float once more to 16 bits gives what rounding `x` at once
// would.
float ToOddFloat(double x) {
  const float nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || !std::isfinite(nearest)) return nearest;
  const bool away = std::fabs(static_cast<double>(nearest)) > std::fabs(x);
  return std::bit_cast<float>((std::bit_cast<uint32_t>(nearest) - (away ? 1u : 0u)) | 1u);
}

double Load(float x) { return x; }
double Load(double x) { return x; }
double Load(Float16 x) { return ToFloat(x); }
double Load(BFloat16 x) { return ToFloat(x); }

void Store(double x, float& to) { to = static_cast<float>(x); }
void Store(double x, double& to) { to = x; }
void Store(double x, Float16& to) { to = ToFloat16(ToOddFloat(x)); }
void Store(double x, BFloat16& to) { to = ToBFloat16(ToOddFloat(x)); }

// Calls f with a value of the C++ type of a float dtype.
template <typename F>
auto WithType(DType dtype, F f) {
  switch (dtype) {
    case DType::kF64:
      return f(double{});
    case DType::kF16:
      return f(Float16{});
    case DType::kBF16:
      return f(BFloat16{});
    default:
      CHECK(dtype == DType::kF32) << NameOf(dtype);
      return f(float{});
  }
}

template <typename T, typename At>
std::optional<HostTensor> Make(DType dtype, Dims dims, At at) {
  HostTensor tensor = HostTensor::Allocate(dtype, std::move(dims));
  absl::Span<T> to = tensor.mutable_data<T>();
  for (size_t i = 0; i < to.size(); ++i) {
    Store(at(i), to[i]);
    if (!std::isfinite(Load(to[i]))) return std::nullopt;
  }
  return tensor;
}

}  // namespace

std::vector<double> ToDoubles(const HostTensor& tensor) {
  return WithType(tensor.dtype(), [&](auto tag) {
    std::vector<double> values;
    values.reserve(tensor.elements());
    for (const auto x : tensor.data<decltype(tag)>()) values.push_back(Load(x));
    return values;
  });
}

std::optional<HostTensor> FromDoubles(DType dtype, Dims dims, absl::Span<const double> values) {
  return WithType(dtype, [&](auto tag) {
    return Make<decltype(tag)>(dtype, std::move(dims), [&](size_t i) { return values[i]; });
  });
}

std::optional<HostTensor> ScaleRows(const HostTensor& weights, absl::Span<const double> scales) {
  return WithType(weights.dtype(), [&](auto tag) {
    const auto from = weights.data<decltype(tag)>();
    const size_t row = scales.empty() ? 1 : from.size() / scales.size();
    return Make<decltype(tag)>(weights.dtype(), weights.dims(),
                               [&](size_t i) { return Load(from[i]) * scales[i / row]; });
  });
}

}  // namespace onnx_cudnn
