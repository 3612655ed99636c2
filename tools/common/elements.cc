#include "tools/common/elements.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace onnx_cudnn {

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
          // NaN sorts last, because the comparison must be a strict order.
          const double x = std::isnan(a.value) ? -std::numeric_limits<double>::infinity() : a.value;
          const double y = std::isnan(b.value) ? -std::numeric_limits<double>::infinity() : b.value;
          return x != y ? x > y : a.index < b.index;
        });
    row.resize(kept);
    rows.push_back(std::move(row));
  }
  return rows;
}

Timing SummarizeTimes(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  const auto rank = [&](double share) {
    const auto index = static_cast<size_t>(std::ceil(share * static_cast<double>(ms.size())));
    return ms[std::max<size_t>(index, 1) - 1];
  };
  const double sum = std::accumulate(ms.begin(), ms.end(), 0.0);
  return {.min = ms.front(),
          .median = rank(0.5),
          .mean = sum / static_cast<double>(ms.size()),
          .p90 = rank(0.9),
          .p95 = rank(0.95),
          .p99 = rank(0.99)};
}

}  // namespace onnx_cudnn
