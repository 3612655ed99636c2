// SVMClassifier and SVMRegressor.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/ml_types.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/ml/coupling.h"
#include "runtime/ops/ml/rows.h"
#include "runtime/ops/ml/scores.h"
#include "runtime/ops/scalar_us.h"

namespace onnx_cudnn {
namespace {

enum class Kernel : uint8_t { kLinear, kPoly, kRbf, kSigmoid };

struct Svm {
  Kernel kernel = Kernel::kLinear;
  double gamma = 0, coef0 = 0, degree = 0;
  absl::Span<const float> vectors;       // [count,columns]; without support vectors the weights
                                         // [classes,columns], which are linear
  absl::Span<const float> coefficients;  // classifier: [classes - 1,count]; regressor: [count]
  absl::Span<const float> rho, prob_a, prob_b;
  absl::Span<const int64_t> labels, per_class;  // support vectors of each class
  int64_t count = 0, columns = 0;
  bool has_vectors = false;
  PostTransform transform = PostTransform::kNone;

  int64_t classes() const { return std::ssize(labels); }
  int64_t pairs() const { return classes() * (classes() - 1) / 2; }
};

absl::Status ExpectCount(std::string_view what, size_t found, int64_t least) {
  if (std::cmp_greater_equal(found, least)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", found, " numbers, expected ", least));
}

absl::Status ReadKernel(const Attrs& attrs, Svm& svm) {
  const absl::Span<const float> params = FloatsOf(attrs, "kernel_params");
  if (!params.empty()) {
    RETURN_IF_ERROR(ExpectCount("kernel_params", params.size(), 3));
    svm.gamma = params[0];
    svm.coef0 = params[1];
    svm.degree = params[2];
  }
  const std::string name = attrs.String("kernel_type", "LINEAR");
  constexpr std::string_view kNames[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames))
    return absl::InvalidArgumentError(absl::StrCat("kernel_type \"", name, "\" is unknown"));
  svm.kernel = static_cast<Kernel>(found - std::begin(kNames));
  return absl::OkStatus();
}

// weights  rows of coefficients without support vectors
absl::Status ReadVectors(const Attrs& attrs, int64_t supports, int64_t weights, Svm& svm) {
  svm.has_vectors = supports > 0;
  svm.count = svm.has_vectors ? supports : weights;
  if (!svm.has_vectors) svm.kernel = Kernel::kLinear;
  svm.vectors = svm.has_vectors ? FloatsOf(attrs, "support_vectors") : svm.coefficients;
  int64_t expected;
  if (!__builtin_mul_overflow(svm.count, svm.columns, &expected) &&
      std::ssize(svm.vectors) == expected) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(svm.has_vectors ? "support_vectors" : "coefficients", " has ",
                   svm.vectors.size(), " numbers, expected ", svm.count, " x ", svm.columns));
}

absl::StatusOr<Svm> SvmOf(const Node& node) {
  Svm svm;
  svm.columns = RowsOf(node.input(0).dims()).columns;
  svm.coefficients = FloatsOf(node.attrs(), "coefficients");
  svm.rho = FloatsOf(node.attrs(), "rho");
  RETURN_IF_ERROR(ReadKernel(node.attrs(), svm));
  ASSIGN_OR_RETURN(svm.transform, PostTransformOf(node));
  RETURN_IF_ERROR(ExpectCount("rho", svm.rho.size(), 1));
  return svm;
}

absl::StatusOr<Svm> RegressorOf(const Node& node) {
  ASSIGN_OR_RETURN(Svm svm, SvmOf(node));
  const int64_t supports = node.attrs().Int("n_supports", 0);
  RETURN_IF_ERROR(ReadVectors(node.attrs(), supports, 1, svm));
  RETURN_IF_ERROR(ExpectCount("coefficients", svm.coefficients.size(), supports));
  return svm;
}

absl::StatusOr<Svm> ClassifierOf(const Node& node) {
  ASSIGN_OR_RETURN(Svm svm, SvmOf(node));
  svm.labels = IntsOf(node.attrs(), "classlabels_ints");
  svm.per_class = IntsOf(node.attrs(), "vectors_per_class");
  svm.prob_a = FloatsOf(node.attrs(), "prob_a");
  svm.prob_b = FloatsOf(node.attrs(), "prob_b");
  if (svm.labels.empty()) return absl::InvalidArgumentError("there are no integer labels");
  constexpr int64_t kMost = int64_t{1} << 31;
  int64_t supports = 0;
  for (const int64_t count : svm.per_class) {
    if (count < 0 || count > kMost - supports)
      return absl::InvalidArgumentError("vectors_per_class is out of range");
    supports += count;
  }
  RETURN_IF_ERROR(ReadVectors(node.attrs(), supports, svm.classes(), svm));
  if (!svm.has_vectors) return svm;
  if (svm.per_class.size() != svm.labels.size() || svm.labels.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", svm.labels.size(), " labels for ",
                                                   svm.per_class.size(), " vectors_per_class"));
  }
  RETURN_IF_ERROR(
      ExpectCount("coefficients", svm.coefficients.size(), (svm.classes() - 1) * svm.count));
  RETURN_IF_ERROR(ExpectCount("rho", svm.rho.size(), svm.pairs()));
  if (svm.prob_a.empty()) return svm;
  RETURN_IF_ERROR(ExpectCount("prob_a", svm.prob_a.size(), svm.pairs()));
  RETURN_IF_ERROR(ExpectCount("prob_b", svm.prob_b.size(), svm.pairs()));
  return svm;
}

double KernelOf(const Svm& svm, const float* vector, absl::Span<const double> x) {
  double sum = 0;
  if (svm.kernel == Kernel::kRbf) {
    for (size_t c = 0; c < x.size(); ++c) sum += (x[c] - vector[c]) * (x[c] - vector[c]);
    return std::exp(-svm.gamma * sum);
  }
  for (size_t c = 0; c < x.size(); ++c) sum += x[c] * vector[c];
  switch (svm.kernel) {
    case Kernel::kPoly:
      return std::pow(svm.gamma * sum + svm.coef0, svm.degree);
    case Kernel::kSigmoid:
      return std::tanh(svm.gamma * sum + svm.coef0);
    default:
      return sum;
  }
}

// The kernel of a row with each vector.
std::vector<double> KernelsOf(const Svm& svm, absl::Span<const double> x) {
  std::vector<double> kernels(svm.count);
  for (int64_t v = 0; v < svm.count; ++v)
    kernels[v] = KernelOf(svm, svm.vectors.data() + v * svm.columns, x);
  return kernels;
}

// One decision per pair of classes (i,j), i < j; positive: i.
std::vector<double> DecisionsOf(const Svm& svm, const std::vector<double>& kernels) {
  std::vector<int64_t> starts(svm.classes() + 1, 0);
  std::partial_sum(svm.per_class.begin(), svm.per_class.end(), starts.begin() + 1);
  const auto sum = [&](int64_t row, int64_t of_class) {
    const float* weights = svm.coefficients.data() + row * svm.count;
    double total = 0;
    for (int64_t v = starts[of_class]; v < starts[of_class + 1]; ++v)
      total += weights[v] * kernels[v];
    return total;
  };
  std::vector<double> decisions;
  for (int64_t i = 0; i < svm.classes(); ++i) {
    for (int64_t j = i + 1; j < svm.classes(); ++j)
      decisions.push_back(sum(j - 1, i) + sum(i, j) + svm.rho[decisions.size()]);
  }
  return decisions;
}

int64_t MostVotes(const Svm& svm, const std::vector<double>& decisions) {
  std::vector<double> votes(svm.classes());
  size_t pair = 0;
  for (int64_t i = 0; i < svm.classes(); ++i) {
    for (int64_t j = i + 1; j < svm.classes(); ++j) ++votes[decisions[pair++] > 0 ? i : j];
  }
  return TopOf(votes);
}

struct Classified {
  int64_t top;
  std::vector<double> scores;
};

Classified Classify(const Svm& svm, absl::Span<const double> x) {
  std::vector<double> kernels = KernelsOf(svm, x);
  Classified result;
  if (!svm.has_vectors) {
    for (double& score : kernels) score += svm.rho[0];
    result = {.top = TopOf(kernels), .scores = std::move(kernels)};
  } else {
    std::vector<double> decisions = DecisionsOf(svm, kernels);
    result.top = MostVotes(svm, decisions);
    if (!svm.prob_a.empty()) {
      result.scores = CoupledProbabilities(decisions, svm.prob_a, svm.prob_b, svm.classes());
    } else if (decisions.size() == 1) {
      const auto two = TwoScores(decisions[0], svm.transform, /*is_probability=*/false);
      result.scores = {two.begin(), two.end()};
    } else {
      result.scores = std::move(decisions);
    }
  }
  Transform(svm.transform, absl::MakeSpan(result.scores));
  return result;
}

absl::Status ReferenceClassifier(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const Svm svm, ClassifierOf(args.node));
  const MlRows x = RowsOf(args.in[0].dims);
  const bool has_scores = args.has_out(1);
  const int64_t scores = has_scores ? args.out[1].dims.back() : 0;
  const bool is_pairs = svm.has_vectors && svm.prob_a.empty() && svm.classes() > 2;
  const int64_t expected = is_pairs ? svm.pairs() : svm.classes();
  if (has_scores) RETURN_IF_ERROR(ExpectDims("Z", args.out[1].dims, {x.rows, expected}));
  std::vector<double> storage;
  const absl::Span<const double> numbers = NumbersAs<double>(args.in[0], storage);
  args.threads.ParallelFor(x.rows, GrainFor(svm.count * svm.columns), [&](int64_t r, int64_t end) {
    for (; r < end; ++r) {
      const Classified row = Classify(svm, numbers.subspan(r * x.columns, x.columns));
      if (args.has_out(0)) args.out[0].as<int64_t>()[r] = svm.labels[row.top];
      if (!has_scores) continue;
      std::copy(row.scores.begin(), row.scores.end(), args.out[1].as<float>().begin() + r * scores);
    }
  });
  return absl::OkStatus();
}

double Regress(const Svm& svm, absl::Span<const double> x) {
  const std::vector<double> kernels = KernelsOf(svm, x);
  if (!svm.has_vectors) return kernels[0] + svm.rho[0];
  return std::inner_product(kernels.begin(), kernels.end(), svm.coefficients.begin(),
                            static_cast<double>(svm.rho[0]));
}

absl::Status ReferenceRegressor(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const Svm svm, RegressorOf(args.node));
  const bool one_class = args.node.attrs().Int("one_class", 0) != 0;
  const MlRows x = RowsOf(args.in[0].dims);
  RETURN_IF_ERROR(ExpectDims("Y", args.out[0].dims, {x.rows, 1}));
  std::vector<double> storage;
  const absl::Span<const double> numbers = NumbersAs<double>(args.in[0], storage);
  args.threads.ParallelFor(x.rows, GrainFor(svm.count * svm.columns), [&](int64_t r, int64_t end) {
    for (; r < end; ++r) {
      double score = Regress(svm, numbers.subspan(r * x.columns, x.columns));
      if (one_class) score = score > 0 ? 1 : -1;
      Transform(svm.transform, absl::MakeSpan(&score, 1));
      args.out[0].as<float>()[r] = static_cast<float>(score);
    }
  });
  return absl::OkStatus();
}

// A function of the math library per row and support vector.
Cost SvmCost(const Node& node) {
  const MlRows x = RowsOf(node.input(0).dims());
  const auto numbers = std::ssize(FloatsOf(node.attrs(), "support_vectors")) +
                       std::ssize(FloatsOf(node.attrs(), "coefficients"));
  const int64_t vectors = numbers / std::max<int64_t>(x.columns, 1);
  return {
      .us = ScalarUs(2 * x.rows * vectors), .flops = 3 * x.rows * numbers, .bytes = IoBytes(node)};
}

}  // namespace

OpDef SVMClassifierOp() {
  return MlOp(CheckModelOfRows<ClassifierOf>, ReferenceClassifier, SvmCost);
}

OpDef SVMRegressorOp() { return MlOp(CheckModelOfRows<RegressorOf>, ReferenceRegressor, SvmCost); }

}  // namespace onnx_cudnn
