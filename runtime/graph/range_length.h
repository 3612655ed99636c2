#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace onnx_cudnn {

// The number of elements that Range gives: max(ceil((limit - start) / delta), 0), computed in T:
// float for 16-bit floats (stash_type 1), double for f32 and f64; exact for integers.
//   errors  InvalidArgument: delta is 0, the count is NaN or infinite
template <typename T>
absl::StatusOr<int64_t> RangeLength(T start, T limit, T delta) {
  if (delta == T{0}) return absl::InvalidArgumentError("delta is 0");
  if constexpr (std::is_floating_point_v<T>) {
    const T count = std::ceil((limit - start) / delta);
    if (count < static_cast<T>(std::numeric_limits<int64_t>::max())) {
      return static_cast<int64_t>(std::max(count, T{0}));
    }
    return absl::InvalidArgumentError(absl::StrCat("a range of ", count, " elements"));
  } else {
    if (delta > 0 ? limit <= start : limit >= start) return 0;
    const uint64_t low = static_cast<uint64_t>(delta > 0 ? start : limit),
                   high = static_cast<uint64_t>(delta > 0 ? limit : start);
    const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : -static_cast<uint64_t>(delta);
    const uint64_t before = (high - low - 1) / step;  // the last element's index
    if (before < static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return static_cast<int64_t>(before) + 1;
    }
    return absl::InvalidArgumentError("a range of 2^63 elements or more");
  }
}

}  // namespace onnx_cudnn
