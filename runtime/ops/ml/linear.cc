// LinearClassifier and LinearRegressor.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/ml_types.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/ml/rows.h"
#include "runtime/ops/ml/scores.h"

namespace onnx_cudnn {
namespace {

struct Linear {
  absl::Span<const float> coefficients;  // [outputs,columns]
  absl::Span<const float> intercepts;    // one per output, or none: 0
  int64_t outputs = 0;
  PostTransform transform;
};

// outputs  scores of a row
absl::StatusOr<Linear> LinearOf(const Node& node, int64_t outputs, int64_t columns) {
  Linear linear{.coefficients = FloatsOf(node.attrs(), "coefficients"),
                .intercepts = FloatsOf(node.attrs(), "intercepts"),
                .outputs = outputs,
                .transform = PostTransform::kNone};
  ASSIGN_OR_RETURN(linear.transform, PostTransformOf(node));
  int64_t expected;
  if (outputs < 1 || __builtin_mul_overflow(outputs, columns, &expected) ||
      std::ssize(linear.coefficients) != expected) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", linear.coefficients.size(),
                                                   " coefficients, expected ", outputs, " x ",
                                                   columns));
  }
  if (!linear.intercepts.empty() && std::ssize(linear.intercepts) != outputs) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", linear.intercepts.size(), " intercepts, expected ", outputs));
  }
  return linear;
}

void ScoreRow(const Linear& linear, absl::Span<const double> x, absl::Span<double> scores) {
  for (int64_t e = 0; e < linear.outputs; ++e) {
    double sum = linear.intercepts.empty() ? 0 : linear.intercepts[e];
    const float* weights = linear.coefficients.data() + e * std::ssize(x);
    for (size_t c = 0; c < x.size(); ++c) sum += weights[c] * x[c];
    scores[e] = sum;
  }
}

int64_t ColumnsOf(const Node& node) { return RowsOf(node.input(0).dims()).columns; }

absl::StatusOr<Linear> RegressorOf(const Node& node) {
  return LinearOf(node, node.attrs().Int("targets", 1), ColumnsOf(node));
}

// One score for two labels, or one for each label.
absl::StatusOr<Linear> ClassifierOf(const Node& node) {
  const auto scores = std::ssize(FloatsOf(node.attrs(), "intercepts"));
  const auto labels = std::ssize(IntsOf(node.attrs(), "classlabels_ints"));
  if (scores != labels && !(scores == 1 && labels == 2)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", labels, " integer labels for ", scores, " scores"));
  }
  return LinearOf(node, scores, ColumnsOf(node));
}

absl::Status ReferenceRegressor(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const Linear linear, RegressorOf(args.node));
  const MlRows x = RowsOf(args.in[0].dims);
  RETURN_IF_ERROR(ExpectDims("Y", args.out[0].dims, {x.rows, linear.outputs}));
  std::vector<double> storage;
  const absl::Span<const double> numbers = NumbersAs<double>(args.in[0], storage);
  const absl::Span<float> out = args.out[0].as<float>();
  const int64_t grain = GrainFor(x.columns * linear.outputs);
  args.threads.ParallelFor(x.rows, grain, [&](int64_t r, int64_t end) {
    std::vector<double> scores(linear.outputs);
    for (; r < end; ++r) {
      ScoreRow(linear, numbers.subspan(r * x.columns, x.columns), absl::MakeSpan(scores));
      Transform(linear.transform, absl::MakeSpan(scores));
      std::copy(scores.begin(), scores.end(), out.begin() + r * linear.outputs);
    }
  });
  return absl::OkStatus();
}

absl::Status ReferenceClassifier(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const Linear linear, ClassifierOf(args.node));
  const absl::Span<const int64_t> labels = IntsOf(args.node.attrs(), "classlabels_ints");
  const MlRows x = RowsOf(args.in[0].dims);
  const auto classes = std::ssize(labels);
  if (args.has_out(1)) RETURN_IF_ERROR(ExpectDims("Z", args.out[1].dims, {x.rows, classes}));
  std::vector<double> storage;
  const absl::Span<const double> numbers = NumbersAs<double>(args.in[0], storage);
  const int64_t grain = GrainFor(x.columns * linear.outputs);
  args.threads.ParallelFor(x.rows, grain, [&](int64_t r, int64_t end) {
    std::vector<double> scores(classes);
    for (; r < end; ++r) {
      ScoreRow(linear, numbers.subspan(r * x.columns, x.columns), absl::MakeSpan(scores));
      if (linear.outputs < classes) {
        const auto two = TwoScores(scores[0], linear.transform, /*is_probability=*/false);
        std::copy(two.begin(), two.end(), scores.begin());
      }
      if (args.has_out(0)) args.out[0].as<int64_t>()[r] = labels[TopOf(scores)];
      Transform(linear.transform, absl::MakeSpan(scores));
      if (!args.has_out(1)) continue;
      std::copy(scores.begin(), scores.end(), args.out[1].as<float>().begin() + r * classes);
    }
  });
  return absl::OkStatus();
}

Cost LinearCost(const Node& node) {
  const int64_t rows = RowsOf(node.input(0).dims()).rows;
  const auto weights = std::ssize(FloatsOf(node.attrs(), "coefficients"));
  return {.flops = 2 * rows * weights, .bytes = IoBytes(node)};
}

}  // namespace

OpDef LinearClassifierOp() {
  return MlOp(CheckModelOfRows<ClassifierOf>, ReferenceClassifier, LinearCost);
}

OpDef LinearRegressorOp() {
  return MlOp(CheckModelOfRows<RegressorOf>, ReferenceRegressor, LinearCost);
}

}  // namespace onnx_cudnn
