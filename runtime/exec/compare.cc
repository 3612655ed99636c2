#include "runtime/exec/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/graph/float16.h"
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
  switch (dtype) {
    case DType::kF32:
      return body.template operator()<float>();
    case DType::kF64:
      return body.template operator()<double>();
    case DType::kF16:
      return body.template operator()<Float16>();
    case DType::kBF16:
      return body.template operator()<BFloat16>();
    case DType::kI8:
      return body.template operator()<int8_t>();
    case DType::kI16:
      return body.template operator()<int16_t>();
    case DType::kI32:
      return body.template operator()<int32_t>();
    case DType::kI64:
      return body.template operator()<int64_t>();
    case DType::kU8:
    case DType::kBool:
      return body.template operator()<uint8_t>();
    case DType::kU16:
      return body.template operator()<uint16_t>();
    case DType::kU32:
      return body.template operator()<uint32_t>();
    case DType::kU64:
      return body.template operator()<uint64_t>();
    default:
      return absl::UnimplementedError(
          absl::StrCat("values of dtype ", NameOf(dtype), " are not read as numbers"));
  }
}

// Where the difference of two numbers is not a number: equal infinities and two NaNs do not differ.
double DifferenceOf(double found, double expected) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return 0;
  const double difference = std::abs(found - expected);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

template <typename T>
void CompareNumbers(absl::Span<const T> found, absl::Span<const T> expected, double slope,
                    double atol, Difference& difference) {
  for (const T value : expected) {
    const double magnitude = std::abs(ToDouble(value));
    if (std::isfinite(magnitude)) {
      difference.largest_expected = std::max(difference.largest_expected, magnitude);
    }
  }
  const double floor = atol * difference.largest_expected;
  for (size_t i = 0; i < found.size(); ++i) {
    const double x = ToDouble(found[i]), y = ToDouble(expected[i]);
    const double d = DifferenceOf(x, y);
    difference.largest = std::max(difference.largest, d);
    const double allowed = std::isfinite(y) ? floor + slope * std::abs(y) : 0;
    if (d > allowed) ++difference.beyond;
  }
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

Tolerance ToleranceOf(DType dtype, bool tf32) {
  switch (dtype) {
    case DType::kF64:
      return {1e-9, 1e-10};
    case DType::kF16:
      return {1e-3, 2.5e-3};
    case DType::kBF16:  // three bits of mantissa less
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
