#include "runtime/exec/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/graph/element_types.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {
namespace {

std::string TypeText(const HostTensor& tensor) {
  return ToString(Type::Tensor(tensor.dtype(), tensor.dims()));
}

template <typename T>
double ToDouble(T x) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(x);
  } else {
    return static_cast<double>(ToFloat(x));
  }
}

// Calls `body` with the C++ type of a dtype's elements.
template <typename Body>
absl::Status DispatchNumbers(DType dtype, Body body) {
  if (!kFixedSizeTypes.Has(dtype)) {
    return absl::UnimplementedError(
        absl::StrCat("values of dtype ", NameOf(dtype), " are not read as numbers"));
  }
  return VisitElementType(dtype, [&](auto element) {
    using E = decltype(element);
    return body.template operator()<std::conditional_t<std::is_same_v<E, Bool>, uint8_t, E>>();
  });
}

// The difference of two numbers; equal infinities and two NaNs do not differ.
double DifferenceOf(double found, double expected) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return 0;
  const double difference = std::abs(found - expected);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

// Elements per thread and step; independent of the number of threads, so that results are too.
constexpr int64_t kPart = 65536;
// Elements tested in single precision first.
constexpr int64_t kBlock = 1024;
constexpr int32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000;  // bits of a float

// Float types for which single precision is enough to see that all differences are small.
template <typename T>
constexpr bool kIsShort =
    std::is_same_v<T, float> || std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

inline float ToFloat(float x) { return x; }

template <typename T>
double LargestFinite(absl::Span<const T> values) {
  if constexpr (kIsShort<T>) {
    int32_t largest = 0;  // positive floats have the order of their bits
    for (const T value : values) {
      const int32_t magnitude = std::bit_cast<int32_t>(ToFloat(value)) & kMagnitude;
      largest = std::max(largest, magnitude < kInfinity ? magnitude : 0);
    }
    return std::bit_cast<float>(largest);
  } else {
    double largest = 0;
    for (const T value : values) {
      const double magnitude = std::abs(ToDouble(value));
      if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
    }
    return largest;
  }
}

// The allowed difference of a number: floor + slope × |expected|.
struct Allowed {
  double floor, slope;
};

template <typename T>
void CompareEach(absl::Span<const T> found, absl::Span<const T> expected, const Allowed& allowed,
                 Difference& difference) {
  for (size_t i = 0; i < found.size(); ++i) {
    const double x = ToDouble(found[i]), y = ToDouble(expected[i]);
    const double d = DifferenceOf(x, y);
    difference.largest = std::max(difference.largest, d);
    const double most = std::isfinite(y) ? allowed.floor + allowed.slope * std::abs(y) : 0;
    if (d > most) ++difference.beyond;
  }
}

// Whether all numbers are finite, differ by no more than `largest` and by less than is allowed,
// with certainty in single precision; false if anything is near a bound.
template <typename T>
bool IsUnremarkable(absl::Span<const T> found, absl::Span<const T> expected, const Allowed& allowed,
                    double largest) {
  constexpr double kLess = 1 - 1e-6;  // covers the rounding of the sums below
  // Far above the subnormal numbers, whose relative rounding error is larger.
  constexpr double kLeastFloor = 1e-30;
  const auto floor = static_cast<float>(std::min(kLess * allowed.floor, 1e38));
  const auto slope = static_cast<float>(std::min(kLess * allowed.slope, 1e38));
  const T *const xs = found.data(), *const ys = expected.data();
  const size_t n = found.size();
  int32_t worst = 0, beyond = 0;
  for (size_t i = 0; i < n; ++i) {
    const float y = ToFloat(ys[i]);
    const float d = std::abs(ToFloat(xs[i]) - y);
    worst = std::max(worst, std::bit_cast<int32_t>(d));
    // Negative: its sign bit is set.
    beyond |= std::bit_cast<int32_t>(floor + slope * std::abs(y) - d);
  }
  if (worst == 0) return true;
  return worst < kInfinity && beyond >= 0 && allowed.floor > kLeastFloor &&
         std::bit_cast<float>(worst) <= static_cast<float>(largest);
}

template <typename T>
void ComparePart(absl::Span<const T> found, absl::Span<const T> expected, const Allowed& allowed,
                 Difference& difference) {
  if constexpr (!kIsShort<T>) {
    CompareEach(found, expected, allowed, difference);
  } else {
    for (size_t begin = 0; begin < found.size(); begin += kBlock) {
      const absl::Span<const T> x = found.subspan(begin, kBlock);
      const absl::Span<const T> y = expected.subspan(begin, kBlock);
      if (IsUnremarkable(x, y, allowed, difference.largest)) continue;
      CompareEach(x, y, allowed, difference);
    }
  }
}

// Calls body(part, begin, end) for parts of `n` elements, in parallel.
template <typename Body>
void ForParts(int64_t n, Body body) {
  const int64_t parts = (n + kPart - 1) / kPart;
  ThreadPool::Default().ParallelFor(parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part) {
      body(part, part * kPart, std::min((part + 1) * kPart, n));
    }
  });
}

template <typename T>
void CompareNumbers(absl::Span<const T> found, absl::Span<const T> expected, double slope,
                    double atol, Difference& difference) {
  const auto n = static_cast<int64_t>(found.size());
  std::vector<Difference> parts((n + kPart - 1) / kPart);
  ForParts(n, [&](int64_t part, int64_t begin, int64_t end) {
    parts[part].largest_expected = LargestFinite(expected.subspan(begin, end - begin));
  });
  for (const Difference& part : parts) {
    difference.largest_expected = std::max(difference.largest_expected, part.largest_expected);
  }
  const Allowed allowed = {.floor = atol * difference.largest_expected, .slope = slope};
  ForParts(n, [&](int64_t part, int64_t begin, int64_t end) {
    ComparePart(found.subspan(begin, end - begin), expected.subspan(begin, end - begin), allowed,
                parts[part]);
  });
  for (const Difference& part : parts) {
    difference.largest = std::max(difference.largest, part.largest);
    difference.beyond += part.beyond;
  }
}

template <typename T>
auto RawBits(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(x);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(x);
  } else {
    return x.bits;
  }
}

// The numbers of type T from `a` to `b`, neither of which is NaN.
template <typename T>
double UlpsBetween(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return std::abs(static_cast<double>(a) - static_cast<double>(b));
  } else {
    using Bits = decltype(RawBits(a));
    constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    const Bits x = RawBits(a), y = RawBits(b);
    const uint64_t from_zero_x = x & ~kSign, from_zero_y = y & ~kSign;
    if ((x & kSign) != (y & kSign)) return static_cast<double>(from_zero_x + from_zero_y);
    return static_cast<double>(std::max(from_zero_x, from_zero_y) -
                               std::min(from_zero_x, from_zero_y));
  }
}

struct FigureSums {
  ErrorFigures figures;
  double found_expected = 0, found_found = 0, expected_expected = 0;
};

template <typename T>
void AddFigures(absl::Span<const T> found, absl::Span<const T> expected, FigureSums& sums) {
  ErrorFigures& f = sums.figures;
  for (size_t i = 0; i < found.size(); ++i) {
    const double x = ToDouble(found[i]), y = ToDouble(expected[i]);
    if (std::isfinite(x) && std::isfinite(y)) {
      sums.found_expected += x * y;
      sums.found_found += x * x;
      sums.expected_expected += y * y;
      if (x == y) continue;
      if (y != 0) f.relative = std::max(f.relative, std::abs(x - y) / std::abs(y));
      f.ulps = std::max(f.ulps, UlpsBetween(found[i], expected[i]));
    } else if (DifferenceOf(x, y) != 0) {
      f.relative = f.ulps = std::numeric_limits<double>::infinity();
      if (std::isfinite(y)) ++f.not_finite;
    }
  }
}

template <typename T>
ErrorFigures FiguresOfNumbers(absl::Span<const T> found, absl::Span<const T> expected) {
  const auto n = static_cast<int64_t>(found.size());
  std::vector<FigureSums> parts((n + kPart - 1) / kPart);
  ForParts(n, [&](int64_t part, int64_t begin, int64_t end) {
    AddFigures(found.subspan(begin, end - begin), expected.subspan(begin, end - begin),
               parts[part]);
  });
  FigureSums all;
  for (const FigureSums& part : parts) {
    all.figures.relative = std::max(all.figures.relative, part.figures.relative);
    all.figures.ulps = std::max(all.figures.ulps, part.figures.ulps);
    all.figures.not_finite += part.figures.not_finite;
    all.found_expected += part.found_expected;
    all.found_found += part.found_found;
    all.expected_expected += part.expected_expected;
  }
  const double lengths = std::sqrt(all.found_found) * std::sqrt(all.expected_expected);
  if (lengths > 0) {
    all.figures.cosine = std::clamp(all.found_expected / lengths, -1.0, 1.0);
  } else if (all.found_found != all.expected_expected) {
    all.figures.cosine = 0;
  }
  return all.figures;
}

}  // namespace

absl::StatusOr<std::vector<double>> ElementsAsDoubles(const HostTensor& tensor) {
  std::vector<double> values;
  RETURN_IF_ERROR(DispatchNumbers(tensor.dtype(), [&]<typename T>() {
    const absl::Span<const T> from = tensor.data<T>();
    values.resize(from.size());
    std::transform(from.begin(), from.end(), values.begin(), ToDouble<T>);
    return absl::OkStatus();
  }));
  return values;
}

absl::StatusOr<Difference> Compare(const HostTensor& found, const HostTensor& expected, double rtol,
                                   double atol) {
  Difference difference;
  if (found.dtype() != expected.dtype() || found.dims() != expected.dims()) {
    difference.type = absl::StrCat("expected ", TypeText(expected), ", found ", TypeText(found));
    return difference;
  }
  const bool exact = !kFloatTypes.Has(found.dtype());
  RETURN_IF_ERROR(DispatchNumbers(found.dtype(), [&]<typename T>() {
    CompareNumbers(found.data<T>(), expected.data<T>(), exact ? 0 : rtol, exact ? 0 : atol,
                   difference);
    return absl::OkStatus();
  }));
  return difference;
}

absl::StatusOr<ErrorFigures> FiguresOf(const HostTensor& found, const HostTensor& expected) {
  ErrorFigures figures;
  RETURN_IF_ERROR(DispatchNumbers(found.dtype(), [&]<typename T>() {
    figures = FiguresOfNumbers(found.data<T>(), expected.data<T>());
    return absl::OkStatus();
  }));
  return figures;
}

Tolerance ToleranceOf(DType dtype, bool tf32) {
  switch (dtype) {
    case DType::kF64:
      return {1e-9, 1e-10};
    case DType::kF16:
      return {1e-3, 2.5e-3};
    case DType::kBF16:  // three mantissa bits fewer
      return {8e-3, 2e-2};
    case DType::kF32:
      return tf32 ? Tolerance{2e-3, 2e-3} : Tolerance{1e-4, 1e-5};
    default:
      return {};
  }
}

Tolerance ToleranceOf(absl::Span<const Node* const> nodes, DType output, bool tf32) {
  Tolerance tolerance = ToleranceOf(output, tf32);
  if (!kFloatTypes.Has(output)) return tolerance;
  for (const Node* node : nodes) {
    for (const Value* v : node->outputs()) {
      if (v == nullptr || !kFloatTypes.Has(v->dtype())) continue;
      const Tolerance of_value = ToleranceOf(v->dtype(), tf32);
      tolerance.relative = std::max(tolerance.relative, of_value.relative);
      tolerance.absolute = std::max(tolerance.absolute, of_value.absolute);
    }
  }
  return tolerance;
}

std::string Differs(const HostTensor& found, const HostTensor& expected, Tolerance tolerance) {
  const absl::StatusOr<Difference> difference =
      Compare(found, expected, tolerance.relative, tolerance.absolute);
  if (!difference.ok()) {
    return SameContent(found, expected) ? "" : std::string(difference.status().message());
  }
  if (difference->ok()) return "";
  if (!difference->type.empty()) return difference->type;
  return absl::StrFormat("differs by %g where the largest expected is %g: %d of %d elements",
                         difference->largest, difference->largest_expected, difference->beyond,
                         expected.elements());
}

}  // namespace onnx_cudnn
