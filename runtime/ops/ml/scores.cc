#include "runtime/ops/ml/scores.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};

// Of either sign without overflow.
double Logistic(double x) {
  const double e = std::exp(-std::abs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// Winitzki's approximation: erf(y)² ≈ 1 - exp(-y² (4/π + a y²) / (1 + a y²)), solved for y.
double InverseErf(double x) {
  constexpr double kA = 0.147;
  const double log = std::log((1 - x) * (1 + x));
  const double half = 2 / (std::numbers::pi * kA) + log / 2;
  return std::copysign(std::sqrt(std::sqrt(half * half - log / kA) - half), x);
}

double Probit(double p) { return std::numbers::sqrt2 * InverseErf(2 * p - 1); }

void Softmax(absl::Span<double> scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s - most);
  for (double& s : scores) s /= sum;
}

void SoftmaxZero(absl::Span<double> scores) {
  constexpr double kZero = 1e-7;  // as in ONNX's reference implementation
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& s : scores) sum += s = std::abs(s) > kZero ? std::exp(s - most) : 0;
  for (double& s : scores) s = sum == 0 ? 0.5 : s / sum;
}

}  // namespace

absl::StatusOr<PostTransform> PostTransformOf(const Node& node) {
  if (const auto* number = node.attrs().Get<int64_t>("post_transform")) {
    if (*number >= 0 && *number < std::ssize(kNames)) return static_cast<PostTransform>(*number);
    return absl::InvalidArgumentError(
        absl::StrCat("post_transform is ", *number, ", expected 0 to ", std::ssize(kNames) - 1));
  }
  const std::string name = node.attrs().String("post_transform", kNames[0]);
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames))
    return absl::InvalidArgumentError(absl::StrCat("post_transform \"", name, "\" is unknown"));
  return static_cast<PostTransform>(found - std::begin(kNames));
}

void Transform(PostTransform transform, absl::Span<double> scores) {
  if (scores.empty()) return;
  switch (transform) {
    case PostTransform::kNone:
      return;
    case PostTransform::kSoftmax:
      return Softmax(scores);
    case PostTransform::kSoftmaxZero:
      return SoftmaxZero(scores);
    case PostTransform::kLogistic:
      std::transform(scores.begin(), scores.end(), scores.begin(), Logistic);
      return;
    case PostTransform::kProbit:
      std::transform(scores.begin(), scores.end(), scores.begin(), Probit);
      return;
  }
}

std::array<double, 2> TwoScores(double score, PostTransform transform, bool is_probability) {
  const bool complements =
      transform == PostTransform::kProbit || (transform == PostTransform::kNone && is_probability);
  return {complements ? 1 - score : -score, score};
}

int64_t TopOf(absl::Span<const double> scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

}  // namespace onnx_cudnn
