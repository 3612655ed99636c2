// Ops that draw random numbers: RandomNormal, RandomUniform, their Like forms, Bernoulli,
// Multinomial. All compute in double and round once.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/random_draw.h"
#include "runtime/ops/scalar_us.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kPairsPerThread = 1024;  // at least

// Calls f(element, number) for each of n elements; pair(i) has the numbers of elements 2 i and
// 2 i + 1.
template <typename Pair, typename F>
void ForEachNumber(int64_t n, ThreadPool& threads, Pair pair, F f) {
  threads.ParallelFor((n + 1) / 2, kPairsPerThread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const std::array<double, 2> numbers = pair(i);
      f(2 * i, numbers[0]);
      if (2 * i + 1 < n) f(2 * i + 1, numbers[1]);
    }
  });
}

// Writes offset + scale × number.
template <typename Pair>
absl::Status FillScaled(const MutableTensorRef& out, double offset, double scale,
                        ThreadPool& threads, Pair pair) {
  VisitElementType(out.dtype, [&](auto element) {
    using E = decltype(element);
    E* const to = static_cast<E*>(out.data);
    ForEachNumber(out.elements(), threads, pair,
                  [&](int64_t i, double number) { to[i] = Narrow<E>(offset + scale * number); });
  });
  return absl::OkStatus();
}

absl::Status ReferenceUniform(const ReferenceArgs& args) {
  const double low = args.node.attrs().Float("low", 0), high = args.node.attrs().Float("high", 1);
  const RandomDraw draw = RandomDraw::Next(args.node);
  return FillScaled(args.out[0], low, high - low, args.threads,
                    [&](int64_t pair) { return draw.Uniforms(pair); });
}

absl::Status ReferenceNormal(const ReferenceArgs& args) {
  const double mean = args.node.attrs().Float("mean", 0);
  const double scale = args.node.attrs().Float("scale", 1);
  const RandomDraw draw = RandomDraw::Next(args.node);
  return FillScaled(args.out[0], mean, scale, args.threads,
                    [&](int64_t pair) { return draw.Normals(pair); });
}

Support CheckOutput(const Node& node, DTypeSet types) {
  if (types.Has(node.output(0).dtype())) return Support::Yes();
  return Support::No(
      absl::StrCat("an output of ", NameOf(node.output(0).dtype()), " is not implemented"));
}

Support CheckFloatOutput(const Node& node) { return CheckOutput(node, kFloatTypes); }
Support CheckBernoulli(const Node& node) { return CheckOutput(node, kFixedSizeTypes); }

absl::Status ReferenceBernoulli(const ReferenceArgs& args) {
  const MutableTensorRef& out = args.out[0];
  RETURN_IF_ERROR(ExpectDims("output", out.dims, args.in[0].dims));
  const RandomDraw draw = RandomDraw::Next(args.node);
  VisitElementType(args.in[0].dtype, [&](auto in_element) {
    const auto* p = args.in[0].as<decltype(in_element)>().data();
    VisitElementType(out.dtype, [&](auto out_element) {
      using E = decltype(out_element);
      E* const to = static_cast<E*>(out.data);
      ForEachNumber(
          out.elements(), args.threads, [&](int64_t pair) { return draw.Uniforms(pair); },
          [&](int64_t i, double number) {
            to[i] = Narrow<E>(number < Widen<double>(p[i]) ? 1.0 : 0.0);
          });
    });
  });
  return absl::OkStatus();
}

Support CheckMultinomial(const Node& node) {
  if (node.input(0).rank() != 2)
    return Support::No(absl::StrCat("rank ", node.input(0).rank(), " is not 2"));
  if (node.attrs().Int("sample_size", 1) < 0) return Support::No("sample_size is negative");
  return CheckOutput(node, {DType::kI32, DType::kI64});
}

// The running sums of the classes' probabilities, relative to the largest.
absl::StatusOr<std::vector<double>> RunningSums(const TensorRef& logits, int64_t row) {
  const int64_t classes = logits.dims[1];
  std::vector<double> sums(classes);
  VisitElementType(logits.dtype, [&](auto element) {
    const auto* from = logits.as<decltype(element)>().data() + row * classes;
    for (int64_t c = 0; c < classes; ++c) sums[c] = Widen<double>(from[c]);
  });
  double largest = -std::numeric_limits<double>::infinity();
  for (const double logit : sums) {
    if (std::isnan(logit) || logit > largest) largest = logit;  // NaN stays
  }
  if (!std::isfinite(largest)) {
    return absl::InvalidArgumentError(absl::StrCat("the largest log-probability of row ", row,
                                                   " is ", largest, ", expected a finite one"));
  }
  double sum = 0;
  for (double& s : sums) s = sum += std::exp(s - largest);
  return sums;
}

// The class whose share of the sums holds `number` in [0, 1); never one of probability 0.
int64_t ClassAt(const std::vector<double>& sums, double number) {
  auto at = std::upper_bound(sums.begin(), sums.end(), number * sums.back());
  if (at == sums.end()) at = std::lower_bound(sums.begin(), sums.end(), sums.back());  // rounded up
  return at - sums.begin();
}

absl::Status ReferenceMultinomial(const ReferenceArgs& args) {
  const MutableTensorRef& out = args.out[0];
  const int64_t rows = args.in[0].dims[0], samples = args.node.attrs().Int("sample_size", 1);
  RETURN_IF_ERROR(ExpectDims("output", out.dims, {rows, samples}));
  const RandomDraw draw = RandomDraw::Next(args.node);
  for (int64_t row = 0; row < rows; ++row) {
    ASSIGN_OR_RETURN(const std::vector<double> sums, RunningSums(args.in[0], row));
    VisitElementType(out.dtype, [&](auto element) {
      using E = decltype(element);
      E* const to = static_cast<E*>(out.data);
      args.threads.ParallelFor(samples, kPairsPerThread, [&](int64_t begin, int64_t end) {
        for (int64_t i = row * samples + begin; i < row * samples + end; ++i)
          to[i] = Narrow<E>(ClassAt(sums, draw.Uniform(i)));
      });
    });
  }
  return absl::OkStatus();
}

constexpr int64_t kUniformSteps = 2, kNormalSteps = 5;  // per number

Cost CostOfNumbers(const Node& node, int64_t steps) {
  return {.us = ScalarUs(steps * node.output(0).elements()), .bytes = IoBytes(node)};
}
Cost UniformCost(const Node& node) { return CostOfNumbers(node, kUniformSteps); }
Cost NormalCost(const Node& node) { return CostOfNumbers(node, kNormalSteps); }
// An exponential per class, a search per sample.
Cost MultinomialCost(const Node& node) {
  const auto depth = static_cast<int64_t>(
      std::log2(static_cast<double>(std::max<int64_t>(2, node.input(0).dim(1)))));
  Cost cost = CostOfNumbers(node, kUniformSteps + depth);
  cost.us += ScalarUs(node.input(0).elements());
  return cost;
}

OpDef Random(DTypeSet types, absl::Status (*reference)(const ReferenceArgs&),
             Cost (*cost)(const Node&)) {
  return {.types = types, .check = CheckFloatOutput, .reference = reference, .cost = cost};
}

}  // namespace

OpDef RandomNormalOp() { return Random(kFloatTypes, ReferenceNormal, NormalCost); }
OpDef RandomNormalLikeOp() { return Random(kPackedTypes, ReferenceNormal, NormalCost); }
OpDef RandomUniformOp() { return Random(kFloatTypes, ReferenceUniform, UniformCost); }
OpDef RandomUniformLikeOp() { return Random(kPackedTypes, ReferenceUniform, UniformCost); }

OpDef BernoulliOp() {
  return {.check = CheckBernoulli, .reference = ReferenceBernoulli, .cost = UniformCost};
}

OpDef MultinomialOp() {
  return {.check = CheckMultinomial, .reference = ReferenceMultinomial, .cost = MultinomialCost};
}

}  // namespace onnx_cudnn
