// The tree ensembles of ai.onnx.ml, with results computed by hand.
#include <gtest/gtest.h>

#include <string>

#include "runtime/ops/prepare.h"
#include "tests/ops/inferred_node.h"
#include "tests/ops/ml_cases.h"

namespace onnx_cudnn {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;
using Strings = std::vector<std::string>;

// Node lists of three nodes; the first one's branches lead to `yes` and `no`.
Attrs ThreeNodes(Ints trees, Ints ids, Strings modes, int64_t yes, int64_t no) {
  return {{"nodes_treeids", std::move(trees)},    {"nodes_nodeids", std::move(ids)},
          {"nodes_featureids", Ints{0, 0, 0}},    {"nodes_values", Floats{0, 0, 0}},
          {"nodes_truenodeids", Ints{yes, 0, 0}}, {"nodes_falsenodeids", Ints{no, 0, 0}},
          {"nodes_modes", std::move(modes)}};
}

// One tree: x[0] compared with 0; node 1 if it is true, else node 2.
Attrs Stump(const std::string& mode, Ints nan_is_true = {}) {
  Attrs attrs = ThreeNodes({0, 0, 0}, {0, 1, 2}, {mode, "LEAF", "LEAF"}, 1, 2);
  if (!nan_is_true.empty()) attrs.Set("nodes_missing_value_tracks_true", std::move(nan_is_true));
  return attrs;
}

OpRun Regressor(Attrs attrs, const HostTensor& x, Floats weights = {1, 2}) {
  attrs.Set("target_treeids", Ints{0, 0});
  attrs.Set("target_nodeids", Ints{1, 2});
  attrs.Set("target_ids", Ints{0, 0});
  attrs.Set("target_weights", std::move(weights));
  if (!attrs.Has("n_targets")) attrs.Set("n_targets", int64_t{1});
  return {"TreeEnsembleRegressor", {x}, attrs};
}

struct Compared {
  const char* mode;
  std::vector<double> leaves;  // for -1, 0, 1: 1 where the comparison is true, else 2
};
const Compared kComparisons[] = {{"BRANCH_LEQ", {1, 1, 2}}, {"BRANCH_LT", {1, 2, 2}},
                                 {"BRANCH_GTE", {2, 1, 1}}, {"BRANCH_GT", {2, 2, 1}},
                                 {"BRANCH_EQ", {2, 1, 2}},  {"BRANCH_NEQ", {1, 2, 1}}};

TEST(TreeEnsembleRegressorTest, ComparesInEveryMode) {
  for (const Compared& c : kComparisons) {
    SCOPED_TRACE(c.mode);
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kI64}) {
      ExpectMl(Regressor(Stump(c.mode), TensorOf(dtype, {3, 1}, {-1, 0, 1})),
               {F32({3, 1}, c.leaves)});
    }
  }
}

TEST(TreeEnsembleRegressorTest, NanFollowsItsTrack) {
  const HostTensor nan = F32({1, 1}, {kNaN});
  for (const Compared& c : kComparisons) {
    SCOPED_TRACE(c.mode);
    ExpectMl(Regressor(Stump(c.mode), nan), {F32({1, 1}, {2})});
    ExpectMl(Regressor(Stump(c.mode, {1, 0, 0}), nan), {F32({1, 1}, {1})});
  }
}

// Rows are walked in groups of 16, then one by one.
TEST(TreeEnsembleRegressorTest, TakesAnyNumberOfRows) {
  for (const int64_t rows : {0, 1, 15, 16, 17, 200}) {
    std::vector<double> x, y;
    for (int64_t r = 0; r < rows; ++r) {
      x.push_back(r % 3 == 0 ? 1 : -1);
      y.push_back(r % 3 == 0 ? 2 : 1);
    }
    ExpectMl(Regressor(Stump("BRANCH_LEQ"), F32({rows, 1}, x)), {F32({rows, 1}, y)});
  }
}

// Three trees that are leaves: two vote for target 0, one for target 1, none for target 2.
OpRun Leaves(const char* aggregate, Floats base_values = {}) {
  Attrs attrs = ThreeNodes({0, 1, 2}, {0, 0, 0}, {"LEAF", "LEAF", "LEAF"}, 0, 0);
  attrs.Set("target_treeids", Ints{0, 1, 2});
  attrs.Set("target_nodeids", Ints{0, 0, 0});
  attrs.Set("target_ids", Ints{0, 0, 1});
  attrs.Set("target_weights", Floats{-1, -5, 3});
  attrs.Set("n_targets", int64_t{3});
  attrs.Set("aggregate_function", std::string(aggregate));
  if (!base_values.empty()) attrs.Set("base_values", std::move(base_values));
  return {"TreeEnsembleRegressor", {F32({1, 1}, {0})}, attrs};
}

TEST(TreeEnsembleRegressorTest, Aggregates) {
  ExpectMl(Leaves("SUM"), {F32({1, 3}, {-6, 3, 0})});
  ExpectMl(Leaves("AVERAGE"), {F32({1, 3}, {-2, 1, 0})});
  ExpectMl(Leaves("MIN"), {F32({1, 3}, {-5, 3, 0})});
  ExpectMl(Leaves("MAX"), {F32({1, 3}, {-1, 3, 0})});
  ExpectMl(Leaves("MAX", {10, 20, 30}), {F32({1, 3}, {9, 23, 30})});
  ExpectMlError(Leaves("MEDIAN"), "aggregate_function \"MEDIAN\" is unknown");
  ExpectMlError(Leaves("SUM", {1, 2}), "base_values has 2 numbers, expected 3");
}

TEST(TreeEnsembleRegressorTest, TransformsScores) {
  Attrs attrs = Stump("BRANCH_LEQ");
  attrs.Set("post_transform", std::string("LOGISTIC"));
  ExpectMl(Regressor(attrs, F32({1, 1}, {0}), {0, 9}), {F32({1, 1}, {0.5})});
}

// 0.1 in f32 is more than in f64.
TEST(TreeEnsembleRegressorTest, ThresholdsMayBeDoubles) {
  Attrs attrs = Stump("BRANCH_LEQ");
  const HostTensor x = TensorOf(DType::kF64, {1, 1}, {0.1000000001});
  attrs.Set("nodes_values", Floats{0.1F, 0, 0});
  ExpectMl(Regressor(attrs, x), {F32({1, 1}, {1})});
  attrs.Remove("nodes_values");
  attrs.Set("nodes_values_as_tensor", TensorOf(DType::kF64, {3}, {0.1, 0, 0}));
  ExpectMl(Regressor(attrs, x), {F32({1, 1}, {2})});
}

TEST(TreeEnsembleRegressorTest, RefusesWhatIsNoTree) {
  const HostTensor x = F32({1, 1}, {0});
  const auto expect_error = [&](const char* list, auto values, const char* error) {
    Attrs attrs = Stump("BRANCH_LEQ");
    attrs.Set(list, std::move(values));
    ExpectMlError(Regressor(attrs, x), error);
  };
  expect_error("nodes_truenodeids", Ints{0, 0, 0}, "branch 0 is reached twice");
  expect_error("nodes_falsenodeids", Ints{7, 0, 0}, "tree 0 has no node 7");
  expect_error("nodes_nodeids", Ints{0, 1, 1}, "node 1 of tree 0 is given twice");
  expect_error("nodes_featureids", Ints{4, 0, 0}, "X has 1 columns, the trees test 5");
  ExpectMlError(Regressor(Stump("BRANCH_XOR"), x), "mode \"BRANCH_XOR\" is unknown");
  expect_error("nodes_values", Floats{0, 0}, "nodes_values has 2 elements, expected 3");
}

// A stump whose leaves vote for class 0 alone.
OpRun OneScore(Floats weights, const char* transform, Floats base_values = {}) {
  Attrs attrs = Stump("BRANCH_LEQ");
  attrs.Set("class_treeids", Ints{0, 0});
  attrs.Set("class_nodeids", Ints{1, 2});
  attrs.Set("class_ids", Ints{0, 0});
  attrs.Set("class_weights", std::move(weights));
  attrs.Set("classlabels_int64s", Ints{10, 20});
  attrs.Set("post_transform", std::string(transform));
  if (!base_values.empty()) attrs.Set("base_values", std::move(base_values));
  return {"TreeEnsembleClassifier", {F32({2, 1}, {-1, 1})}, attrs, 2};
}

TEST(TreeEnsembleClassifierTest, OneScoreSeparatesTwoClasses) {
  ExpectMl(OneScore({0.25, 0.75}, "NONE"), {RowI({10, 20}), F32({2, 2}, {0.75, 0.25, 0.25, 0.75})});
  ExpectMl(OneScore({-0.25, 0.25}, "NONE"),
           {RowI({10, 20}), F32({2, 2}, {0.25, -0.25, -0.25, 0.25})});
  ExpectMl(OneScore({0.25, 0.75}, "NONE", {0.5}),
           {RowI({20, 20}), F32({2, 2}, {0.25, 0.75, -0.25, 1.25})});
  const double p = 0.7310585786300049;  // 1 / (1 + 1/e)
  ExpectMl(OneScore({-1, 1}, "LOGISTIC"), {RowI({10, 20}), F32({2, 2}, {p, 1 - p, 1 - p, p})},
           1e-6);
  const double q = 0.8807970779778823;  // e / (e + 1/e)
  ExpectMl(OneScore({-1, 1}, "SOFTMAX"), {RowI({10, 20}), F32({2, 2}, {q, 1 - q, 1 - q, q})}, 1e-6);
}

TEST(TreeEnsembleClassifierTest, TakesTheLargestOfTheScoresOfClasses) {
  Attrs attrs = Stump("BRANCH_LEQ");
  attrs.Set("class_treeids", Ints{0, 0, 0, 0});
  attrs.Set("class_nodeids", Ints{1, 2, 1, 2});
  attrs.Set("class_ids", Ints{0, 1, 2, 2});
  attrs.Set("class_weights", Floats{3, 4, 1, -1});
  attrs.Set("classlabels_int64s", Ints{5, 6, 7});
  const HostTensor x = F32({2, 1}, {-1, 1});
  ExpectMl({"TreeEnsembleClassifier", {x}, attrs, 2},
           {RowI({5, 6}), F32({2, 3}, {3, 0, 1, 0, 4, -1})});
  attrs.Set("base_values", Floats{0, 0, 9});
  ExpectMl({"TreeEnsembleClassifier", {x}, attrs, 2, "", 1},
           {RowI({7, 7}), F32({2, 3}, {3, 0, 10, 0, 4, 8})});
  attrs.Set("class_ids", Ints{0, 1, 2, 3});
  ExpectMlError({"TreeEnsembleClassifier", {x}, attrs, 2}, "target 3 is out of range, there are 3");
}

// Node 0: x is one of 1 and 3 → leaf 0 (weight 10), else node 1: x <= 5 → leaf 1 (20), else leaf 2
// (30).
OpRun Membership(DType dtype, const std::vector<double>& x, Ints nan_is_true = {}) {
  Attrs attrs = {{"nodes_featureids", Ints{0, 0}},
                 {"nodes_splits", TensorOf(dtype, {2}, {0, 5})},
                 {"nodes_modes", TensorOf(DType::kU8, {2}, {6, 0})},
                 {"nodes_truenodeids", Ints{0, 1}},
                 {"nodes_falsenodeids", Ints{1, 2}},
                 {"nodes_trueleafs", Ints{1, 1}},
                 {"nodes_falseleafs", Ints{0, 1}},
                 {"tree_roots", Ints{0}},
                 {"membership_values", TensorOf(dtype, {3}, {1, 3, kNaN})},
                 {"leaf_targetids", Ints{0, 0, 0}},
                 {"leaf_weights", TensorOf(dtype, {3}, {10, 20, 30})},
                 {"n_targets", int64_t{1}}};
  if (!nan_is_true.empty()) attrs.Set("nodes_missing_value_tracks_true", std::move(nan_is_true));
  return {"TreeEnsemble", {TensorOf(dtype, {static_cast<int64_t>(x.size()), 1}, x)}, attrs};
}

TEST(TreeEnsembleTest, TestsForMembers) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    ExpectMl(Membership(dtype, {1, 2, 3, 6, kNaN}),
             {TensorOf(dtype, {5, 1}, {10, 20, 10, 30, 30})});
    ExpectMl(Membership(dtype, {kNaN}, {0, 1}), {TensorOf(dtype, {1, 1}, {20})});
    ExpectMl(Membership(dtype, {kNaN}, {1, 0}), {TensorOf(dtype, {1, 1}, {10})});
  }
}

TEST(TreeEnsembleTest, TransformsByNumber) {
  OpRun run = Membership(DType::kF32, {1});
  run.attrs.Set("leaf_weights", F32({3}, {0, 0, 0}));
  run.attrs.Set("post_transform", int64_t{2});
  ExpectMl(run, {F32({1, 1}, {0.5})});
  run.attrs.Set("post_transform", int64_t{5});
  ExpectMlError(run, "post_transform is 5, expected 0 to 4");
}

TEST(TreeEnsembleTest, RefusesIndicesOutOfRange) {
  OpRun run = Membership(DType::kF32, {1});
  run.attrs.Set("nodes_truenodeids", Ints{3, 1});
  ExpectMlError(run, "leaf 3 is out of range, there are 3");
  run = Membership(DType::kF32, {1});
  run.attrs.Remove("membership_values");
  ExpectMlError(run, "membership_values has fewer sets");
}

// The arrays of a Node are made once while what Prepare gives lives, and forgotten with it.
TEST(PrepareTest, HoldsWhileItsResultLives) {
  OpRun run = InMlDomain(Regressor(Stump("BRANCH_LEQ"), F32({1, 1}, {-1})));
  InferredNode made(run);
  const HostTensor& x = made.node->input(0).constant();
  HostTensor y = HostTensor::Allocate(DType::kF32, {1, 1});
  const TensorRef in[] = {{x.dtype(), x.dims(), x.raw()}};
  const MutableTensorRef out[] = {{y.dtype(), y.dims(), y.mutable_raw()}};
  const auto result = [&] {
    const absl::Status status = EvaluateNode({*made.node, in, out, nullptr, ThreadPool::Default()});
    EXPECT_TRUE(status.ok()) << status;
    return y.data<float>()[0];
  };
  {
    const auto prepared = Prepare(*made.node);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    ASSERT_NE(*prepared, nullptr);
    made.graph.SetAttr(*made.node, "target_weights", Floats{7, 8});
    EXPECT_EQ(result(), 1);
  }
  EXPECT_EQ(result(), 7);
}

}  // namespace
}  // namespace onnx_cudnn
