// TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor.
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/ml_types.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/ml/ensemble.h"
#include "runtime/ops/ml/rows.h"
#include "runtime/ops/scalar_us.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kBlock = 64;  // rows for which a tree stays in the cache

// Calls write(row, scores) for each row of X, on any thread.
template <typename T>
absl::Status ScoreRows(const ReferenceArgs& args, const Ensemble& ensemble, auto write) {
  const MlRows x = RowsOf(args.in[0].dims);
  std::vector<T> storage;
  const absl::Span<const T> numbers = NumbersAs<T>(args.in[0], storage);
  // Before the threads start, so that there is one error.
  RETURN_IF_ERROR(ensemble.Score<T>({}, x.columns, {}));
  const int64_t blocks = (x.rows + kBlock - 1) / kBlock;
  args.threads.ParallelFor(blocks, 1, [&](int64_t block, int64_t end) {
    std::vector<double> scores;
    for (; block < end; ++block) {
      const int64_t first = block * kBlock, rows = std::min(kBlock, x.rows - first);
      scores.resize(rows * ensemble.targets);
      ensemble
          .Score(numbers.subspan(first * x.columns, rows * x.columns), x.columns,
                 absl::MakeSpan(scores))
          .IgnoreError();
      for (int64_t r = 0; r < rows; ++r) {
        write(first + r, absl::MakeSpan(scores).subspan(r * ensemble.targets, ensemble.targets));
      }
    }
  });
  return absl::OkStatus();
}

absl::Status ScoreAll(const ReferenceArgs& args, const Ensemble& ensemble, auto write) {
  return std::holds_alternative<FlatTrees<float>>(ensemble.trees)
             ? ScoreRows<float>(args, ensemble, write)
             : ScoreRows<double>(args, ensemble, write);
}

absl::Status ReferenceRegressor(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const auto ensemble, EnsembleOf(args.node));
  const int64_t targets = ensemble->targets;
  const MutableTensorRef& y = args.out[0];
  RETURN_IF_ERROR(ExpectDims("Y", y.dims, {RowsOf(args.in[0].dims).rows, targets}));
  return VisitElementType(y.dtype, [&](auto tag) {
    using E = decltype(tag);
    const absl::Span<E> out = y.as<E>();
    return ScoreAll(args, *ensemble, [&](int64_t row, absl::Span<double> scores) {
      Transform(ensemble->transform, scores);
      std::transform(scores.begin(), scores.end(), out.begin() + row * targets,
                     [](double score) { return Narrow<E>(score); });
    });
  });
}

absl::Status ReferenceClassifier(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const auto ensemble, EnsembleOf(args.node));
  const absl::Span<const int64_t> labels = IntsOf(args.node.attrs(), "classlabels_int64s");
  const int64_t classes = ensemble->targets, rows = RowsOf(args.in[0].dims).rows;
  if (args.has_out(1)) RETURN_IF_ERROR(ExpectDims("Z", args.out[1].dims, {rows, classes}));
  const int64_t voted = ensemble->is_one_score ? ensemble->votes[0].target : 0;
  return ScoreAll(args, *ensemble, [&](int64_t row, absl::Span<double> scores) {
    if (ensemble->is_one_score) {
      const auto two = TwoScores(scores[voted], ensemble->transform, ensemble->is_probability);
      std::copy(two.begin(), two.end(), scores.begin());
    }
    if (args.has_out(0)) args.out[0].as<int64_t>()[row] = labels[TopOf(scores)];
    Transform(ensemble->transform, scores);
    if (!args.has_out(1)) return;
    std::copy(scores.begin(), scores.end(), args.out[1].as<float>().begin() + row * classes);
  });
}

Support Check(const Node& node) {
  for (const absl::Status& status : {AggregateOf(node).status(), PostTransformOf(node).status()}) {
    if (!status.ok()) return Support::No(std::string(status.message()));
  }
  const bool is_classifier = node.op() == "TreeEnsembleClassifier";
  if (is_classifier && IntsOf(node.attrs(), "classlabels_int64s").empty())
    return Support::No("there are no integer labels");
  return CheckRows(node);
}

// Steps down each tree, if trees are balanced; each loads a node that is not in the nearest cache.
Cost TreesCost(const Node& node) {
  const bool is_indexed = node.op() == "TreeEnsemble";
  const auto ids = IntsOf(node.attrs(), is_indexed ? "nodes_featureids" : "nodes_treeids");
  int64_t trees = 1;
  if (is_indexed) {
    trees = std::ssize(IntsOf(node.attrs(), "tree_roots"));
  } else {
    for (size_t i = 1; i < ids.size(); ++i) trees += ids[i] != ids[i - 1] ? 1 : 0;
  }
  const auto nodes = std::max<int64_t>(std::ssize(ids) / std::max<int64_t>(trees, 1), 1);
  const int64_t depth = std::bit_width(static_cast<uint64_t>(nodes));
  const int64_t rows = RowsOf(node.input(0).dims()).rows;
  return {.us = ScalarUs(rows * trees * (1 + depth) / 4), .bytes = IoBytes(node)};
}

}  // namespace

OpDef TreeEnsembleOp() {
  OpDef op = MlOp(Check, ReferenceRegressor, TreesCost);
  op.types = {DType::kF32, DType::kF64, DType::kF16};
  return op;
}
OpDef TreeEnsembleClassifierOp() { return MlOp(Check, ReferenceClassifier, TreesCost); }
OpDef TreeEnsembleRegressorOp() { return MlOp(Check, ReferenceRegressor, TreesCost); }

}  // namespace onnx_cudnn
