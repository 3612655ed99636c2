#include "tools/common/elements.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/float16.h"

namespace onnx_cudnn {
namespace {

template <typename T>
std::vector<double> Converted(const HostTensor& tensor) {
  const absl::Span<const T> from = tensor.data<T>();
  std::vector<double> to(from.size());
  std::transform(from.begin(), from.end(), to.begin(), [](T x) {
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<double>(x);
    else
      return static_cast<double>(ToFloat(x));
  });
  return to;
}

// Where the difference of two numbers is not a number: equal infinities and two NaNs do not differ.
double DifferenceOf(double found, double expected) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return 0;
  const double difference = std::abs(found - expected);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

}  // namespace

absl::StatusOr<std::vector<double>> ElementsAsDoubles(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return Converted<float>(tensor);
    case DType::kF64:
      return Converted<double>(tensor);
    case DType::kF16:
      return Converted<Float16>(tensor);
    case DType::kBF16:
      return Converted<BFloat16>(tensor);
    case DType::kI8:
      return Converted<int8_t>(tensor);
    case DType::kI16:
      return Converted<int16_t>(tensor);
    case DType::kI32:
      return Converted<int32_t>(tensor);
    case DType::kI64:
      return Converted<int64_t>(tensor);
    case DType::kU8:
    case DType::kBool:
      return Converted<uint8_t>(tensor);
    case DType::kU16:
      return Converted<uint16_t>(tensor);
    case DType::kU32:
      return Converted<uint32_t>(tensor);
    case DType::kU64:
      return Converted<uint64_t>(tensor);
    default:
      return absl::UnimplementedError(
          absl::StrCat("values of dtype ", NameOf(tensor.dtype()), " are not read as numbers"));
  }
}

Summary Summarize(const std::vector<double>& values) {
  Summary summary{.elements = static_cast<int64_t>(values.size())};
  double sum = 0;
  int64_t finite = 0;
  for (double value : values) {
    if (!std::isfinite(value)) continue;
    summary.min = finite == 0 ? value : std::min(summary.min, value);
    summary.max = finite == 0 ? value : std::max(summary.max, value);
    sum += value;
    ++finite;
  }
  summary.not_finite = summary.elements - finite;
  if (finite > 0) summary.mean = sum / static_cast<double>(finite);
  return summary;
}

std::vector<std::vector<Score>> TopScores(const std::vector<double>& values, const Dims& dims,
                                          int k) {
  const int64_t length = dims.empty() ? 1 : dims.back();
  std::vector<std::vector<Score>> rows;
  for (size_t begin = 0; begin < values.size(); begin += length) {
    std::vector<Score> row(length);
    for (int64_t i = 0; i < length; ++i) row[i] = {i, values[begin + i]};
    const int64_t kept = std::min<int64_t>(k, length);
    std::partial_sort(
        row.begin(), row.begin() + kept, row.end(), [](const Score& a, const Score& b) {
          // NaN last: a comparison must be an order.
          const double x = std::isnan(a.value) ? -std::numeric_limits<double>::infinity() : a.value;
          const double y = std::isnan(b.value) ? -std::numeric_limits<double>::infinity() : b.value;
          return x != y ? x > y : a.index < b.index;
        });
    row.resize(kept);
    rows.push_back(std::move(row));
  }
  return rows;
}

absl::StatusOr<Difference> Compare(const HostTensor& found, const HostTensor& expected, double rtol,
                                   double atol) {
  Difference difference;
  if (found.dtype() != expected.dtype() || found.dims() != expected.dims()) {
    difference.type = absl::StrCat("expected ", NameOf(expected.dtype()), ToString(expected.dims()),
                                   ", found ", NameOf(found.dtype()), ToString(found.dims()));
    return difference;
  }
  ASSIGN_OR_RETURN(const std::vector<double> x, ElementsAsDoubles(found));
  ASSIGN_OR_RETURN(const std::vector<double> y, ElementsAsDoubles(expected));
  for (double value : y) {
    if (std::isfinite(value)) {
      difference.largest_expected = std::max(difference.largest_expected, std::abs(value));
    }
  }
  const bool exact = !kFloatTypes.Has(found.dtype());
  const double floor = exact ? 0 : atol * difference.largest_expected;
  const double slope = exact ? 0 : rtol;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = DifferenceOf(x[i], y[i]);
    difference.largest = std::max(difference.largest, d);
    const double allowed = std::isfinite(y[i]) ? floor + slope * std::abs(y[i]) : 0;
    if (d > allowed) ++difference.beyond;
  }
  return difference;
}

Timing SummarizeTimes(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  const auto rank = [&](double share) {
    const auto index = static_cast<size_t>(std::ceil(share * static_cast<double>(ms.size())));
    return ms[std::max<size_t>(index, 1) - 1];
  };
  const double sum = std::accumulate(ms.begin(), ms.end(), 0.0);
  return {ms.front(), rank(0.5), sum / static_cast<double>(ms.size()), rank(0.9), rank(0.99)};
}

}  // namespace onnx_cudnn
