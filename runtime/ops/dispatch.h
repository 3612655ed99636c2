// From a dtype to the C++ type of its elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/types.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {

// Calls f(T{}) with the C++ type T of a number dtype of 8 to 64 bits; 16-bit floats arrive as f32
// through Widened (widen.h). Internal for any other dtype, which OpDef::types should have excluded.
template <typename F>
absl::Status DispatchNumber(DType dtype, F&& f) {
  const auto refuse = [&] {
    return absl::InternalError(absl::StrCat("no reference for ", NameOf(dtype)));
  };
  if (!kFixedSizeTypes.Has(dtype)) return refuse();
  return VisitElementType(dtype, [&](auto tag) -> absl::Status {
    if constexpr (std::is_arithmetic_v<decltype(tag)>) {
      return f(tag);
    } else {
      return refuse();
    }
  });
}

// The same for f32 and f64.
template <typename F>
absl::Status DispatchFloat(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    default:
      return absl::InternalError(absl::StrCat("no reference for ", NameOf(dtype)));
  }
}

// The accumulator type for sums and products of T: double for floats; unsigned for integers, so
// that overflow wraps.
template <typename T, bool kFloating = std::is_floating_point_v<T>>
struct Accumulator {
  using type = double;
};
template <typename T>
struct Accumulator<T, false> {
  using type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};
template <typename T>
using AccumulatorOf = typename Accumulator<T>::type;

// The smallest T: minus infinity if T has it.
template <typename T>
constexpr T LowestOf() {
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                     : std::numeric_limits<T>::lowest();
}
template <typename T>
constexpr T HighestOf() {
  return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                     : std::numeric_limits<T>::max();
}

// How many items of `work` elementary operations each a thread should process at once.
inline int64_t GrainFor(int64_t work) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, work));
}

}  // namespace onnx_cudnn
