// The ops of ai.onnx.ml but the tree ensembles (ml_trees_test.cc), with results computed by hand.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "runtime/graph/ml_types.h"
#include "runtime/ops/op_table.h"
#include "tests/ops/ml_cases.h"

namespace onnx_cudnn {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;
using Strings = std::vector<std::string>;

constexpr double kRounding = 1e-6;

HostTensor F64(Dims dims, const std::vector<double>& values) {
  return TensorOf(DType::kF64, std::move(dims), values);
}
HostTensor Text(Strings values) {
  const auto count = static_cast<int64_t>(values.size());
  return HostTensor::Strings({count}, std::move(values));
}

TEST(MlTest, EveryOpHasATest) {
  std::set<std::string> ops;
  for (const OpDef* op : AllOps()) {
    if (op->domain == kMlDomain) ops.insert(op->type);
  }
  EXPECT_EQ(ops, (std::set<std::string>{
                     "ArrayFeatureExtractor", "Binarizer", "CategoryMapper", "FeatureVectorizer",
                     "Imputer", "LabelEncoder", "LinearClassifier", "LinearRegressor", "Normalizer",
                     "OneHotEncoder", "SVMClassifier", "SVMRegressor", "Scaler", "TreeEnsemble",
                     "TreeEnsembleClassifier", "TreeEnsembleRegressor"}));
}

TEST(BinarizerTest, IsOneAboveTheThreshold) {
  const Attrs attrs = {{"threshold", 1.0F}};
  ExpectMl({"Binarizer", {Row({0.5, 1, 2, kNaN})}, attrs}, {Row({0, 0, 1, 0})});
  ExpectMl({"Binarizer", {I32({3}, {0, 1, 2})}, attrs}, {I32({3}, {0, 0, 1})});
}

TEST(ImputerTest, ReplacesPerFeature) {
  const Attrs attrs = {{"imputed_value_floats", Floats{9, 8}},
                       {"replaced_value_float", static_cast<float>(kNaN)}};
  ExpectMl({"Imputer", {F32({2, 2}, {kNaN, 1, 2, kNaN})}, attrs}, {F32({2, 2}, {9, 1, 2, 8})});
  ExpectMl({"Imputer", {F64({2}, {kNaN, kNaN})}, attrs}, {F64({2}, {9, 8})});
}

TEST(ImputerTest, ReplacesIntegersByOneForAll) {
  const Attrs attrs = {{"imputed_value_int64s", Ints{7}}, {"replaced_value_int64", int64_t{2}}};
  ExpectMl({"Imputer", {I32({1, 3}, {2, 1, 2})}, attrs}, {I32({1, 3}, {7, 1, 7})});
}

TEST(ImputerTest, RefusesAnotherNumberOfValues) {
  const Attrs attrs = {{"imputed_value_floats", Floats{9, 8}}};
  ExpectMlError({"Imputer", {F32({1, 3}, {0, 0, 0})}, attrs},
                "imputed_value_floats has 2 numbers, expected 1 or 3");
}

TEST(ScalerTest, OffsetsThenScales) {
  const Attrs attrs = {{"offset", Floats{1, 0}}, {"scale", Floats{2, -1}}};
  ExpectMl({"Scaler", {I64({2, 2}, {1, 2, 3, 4})}, attrs}, {F32({2, 2}, {0, -2, 4, -4})});
  ExpectMl({"Scaler", {Row({1, 2})}, {{"scale", Floats{3}}}}, {Row({3, 6})});
}

TEST(NormalizerTest, DividesEachRow) {
  const auto normalized = [](const char* norm, const HostTensor& x, const HostTensor& y) {
    ExpectMl({"Normalizer", {x}, {{"norm", std::string(norm)}}, 1, "", 1}, {y}, kRounding);
  };
  normalized("MAX", F32({2, 3}, {-4, 2, 1, 0, 0, 0}), F32({2, 3}, {-2, 1, 0.5, 0, 0, 0}));
  normalized("L1", I32({1, 2}, {-1, 3}), F32({1, 2}, {-0.25, 0.75}));
  normalized("L2", F64({2}, {3, -4}), Row({0.6, -0.8}));
}

TEST(FeatureVectorizerTest, JoinsColumnsOfTheStatedWidths) {
  const HostTensor a = F32({2, 2}, {1, 2, 3, 4}), b = F32({2, 3}, {5, 6, 7, 8, 9, 10});
  ExpectMl({"FeatureVectorizer", {a, b}, {{"inputdimensions", Ints{3, 2}}}},
           {F32({2, 5}, {1, 2, 0, 5, 6, 3, 4, 0, 8, 9})});
  ExpectMl({"FeatureVectorizer", {I64({2}, {1, 2}), I64({1}, {3})}}, {F32({1, 3}, {1, 2, 3})});
}

TEST(ArrayFeatureExtractorTest, TakesColumns) {
  const HostTensor x = F32({2, 3}, {0, 1, 2, 3, 4, 5});
  ExpectMl({"ArrayFeatureExtractor", {x, RowI({2, 0})}}, {F32({2, 2}, {2, 0, 5, 3})});
  ExpectMl({"ArrayFeatureExtractor", {Row({7, 8, 9}), I64({1, 1}, {1})}}, {F32({1, 1}, {8})});
  ExpectMl({"ArrayFeatureExtractor", {x, I64({}, {2})}}, {F32({2, 1}, {2, 5})});
  ExpectMlError({"ArrayFeatureExtractor", {x, RowI({3})}},
                "index 3 is out of range, X has 3 columns");
  ExpectMlError({"ArrayFeatureExtractor", {x, RowI({-1})}}, "index -1 is out of range");
}

TEST(ArrayFeatureExtractorTest, TakesStrings) {
  ExpectMlStrings({"ArrayFeatureExtractor", {Text({"a", "b", "c"}), RowI({2, 2})}}, {1, 2},
                  {"c", "c"});
}

TEST(OneHotEncoderTest, FindsNumbersCutToIntegers) {
  ExpectMl({"OneHotEncoder", {Row({1.9, 2, -3})}, {{"cats_int64s", Ints{2, 1}}}},
           {F32({3, 2}, {0, 1, 1, 0, 0, 0})});
  const Attrs strict = {{"cats_int64s", Ints{2, 1}}, {"zeros", int64_t{0}}};
  ExpectMlError({"OneHotEncoder", {RowI({2, 5})}, strict},
                "element 1 of X is none of the categories");
}

TEST(OneHotEncoderTest, FindsStrings) {
  const std::vector<HostTensor> y =
      EvaluateMl({"OneHotEncoder", {Text({"b", "x"})}, {{"cats_strings", Strings{"a", "b"}}}});
  ASSERT_EQ(y.size(), 1U);
  EXPECT_TRUE(SameContent(y[0], F32({2, 2}, {0, 1, 0, 0})));
}

TEST(LabelEncoderTest, Opset1IndexesClasses) {
  const Attrs attrs = {{"classes_strings", Strings{"a", "b"}}, {"default_string", "none"}};
  ExpectMlStrings({"LabelEncoder", {RowI({1, 0, 2, -1})}, attrs, 1, "", 1}, {4},
                  {"b", "a", "none", "none"});
  const std::vector<HostTensor> y =
      EvaluateMl({"LabelEncoder", {Text({"b", "x"})}, attrs, 1, "", 1});
  ASSERT_EQ(y.size(), 1U);
  EXPECT_TRUE(SameContent(y[0], RowI({1, -1})));
}

// Since opset 4 the last of equal keys counts; every NaN is equal.
TEST(LabelEncoderTest, MapsNumbersToNumbers) {
  const Attrs ints = {{"keys_int64s", Ints{1, 5, 1}}, {"values_floats", Floats{1.5, 2, 3}}};
  ExpectMl({"LabelEncoder", {RowI({1, 5, 7})}, ints, 1, "", 2}, {Row({1.5, 2, -0.0})});
  ExpectMl({"LabelEncoder", {RowI({1, 5, 7})}, ints, 1, "", 4}, {Row({3, 2, -0.0})});
  const Attrs nan = {{"keys_floats", Floats{static_cast<float>(kNaN), 0}},
                     {"values_int64s", Ints{10, 20}},
                     {"default_int64", int64_t{30}}};
  ExpectMl({"LabelEncoder", {Row({-kNaN, -0.0, 1})}, nan, 1, "", 4}, {RowI({10, 20, 30})});
}

TEST(LabelEncoderTest, MapsTensors) {
  const HostTensor keys = TensorOf(DType::kI16, {2}, {3, 4});
  const Attrs attrs = {{"keys_tensor", keys}, {"values_tensor", F64({2}, {0.5, 1.5})}};
  ExpectMl({"LabelEncoder", {TensorOf(DType::kI16, {3}, {4, 3, 5})}, attrs, 1, "", 4},
           {F64({3}, {1.5, 0.5, -0.0})});
  Attrs stated = attrs;
  stated.Set("default_tensor", F64({1}, {9}));
  ExpectMl({"LabelEncoder", {TensorOf(DType::kI16, {1}, {5})}, stated, 1, "", 4}, {F64({1}, {9})});
}

TEST(LabelEncoderTest, RefusesKeysOfAnotherType) {
  const Attrs attrs = {{"keys_int64s", Ints{1}}, {"values_int64s", Ints{2}}};
  ExpectMlError({"LabelEncoder", {Row({1})}, attrs, 1, "", 4}, "different");
}

TEST(CategoryMapperTest, MapsBothWays) {
  const Attrs attrs = {{"cats_strings", Strings{"x", "y"}}, {"cats_int64s", Ints{4, 6}}};
  ExpectMlStrings({"CategoryMapper", {RowI({6, 5})}, attrs}, {2}, {"y", "_Unused"});
  const std::vector<HostTensor> y = EvaluateMl({"CategoryMapper", {Text({"y", "z"})}, attrs});
  ASSERT_EQ(y.size(), 1U);
  EXPECT_TRUE(SameContent(y[0], RowI({6, -1})));
}

TEST(LinearRegressorTest, AddsOneScorePerTarget) {
  const Attrs attrs = {{"coefficients", Floats{1, -1, 0.5, 2}},
                       {"intercepts", Floats{0, 1}},
                       {"targets", int64_t{2}}};
  ExpectMl({"LinearRegressor", {F64({1, 2}, {1, 2})}, attrs}, {F32({1, 2}, {-1, 5.5})});
  ExpectMlError({"LinearRegressor", {F32({1, 3}, {1, 2, 3})}, attrs},
                "there are 4 coefficients, expected 2 x 3");
}

TEST(LinearRegressorTest, TransformsASingleTargetToo) {
  const Attrs attrs = {{"coefficients", Floats{1}}, {"post_transform", "LOGISTIC"}};
  ExpectMl({"LinearRegressor", {F32({1, 1}, {0})}, attrs}, {F32({1, 1}, {0.5})});
}

OpRun Classifier(const HostTensor& x, Attrs attrs, const char* transform) {
  attrs.Set("post_transform", std::string(transform));
  return {"LinearClassifier", {x}, attrs, 2};
}

TEST(LinearClassifierTest, OneScoreSeparatesTwoClasses) {
  const Attrs attrs = {{"coefficients", Floats{1, 1}},
                       {"intercepts", Floats{-1}},
                       {"classlabels_ints", Ints{10, 20}}};
  const HostTensor x = F32({3, 2}, {1, 1, 0, 0, 1, 0});  // scores 1, -1, 0
  ExpectMl(Classifier(x, attrs, "NONE"), {RowI({20, 10, 10}), F32({3, 2}, {-1, 1, 1, -1, 0, 0})});
  const double p = 0.7310585786300049;  // 1 / (1 + 1/e)
  ExpectMl(Classifier(x, attrs, "LOGISTIC"),
           {RowI({20, 10, 10}), F32({3, 2}, {1 - p, p, p, 1 - p, 0.5, 0.5})}, kRounding);
}

TEST(LinearClassifierTest, TransformsTheScoresOfClasses) {
  const auto with = [](Floats intercepts, const char* transform) {
    const Attrs attrs = {{"coefficients", Floats{0, 0, 0}},
                         {"intercepts", std::move(intercepts)},
                         {"classlabels_ints", Ints{1, 2, 3}}};
    return Classifier(Row({5}), attrs, transform);
  };
  const float ln2 = std::log(2.0F), ln5 = std::log(5.0F), ln6 = std::log(6.0F);
  ExpectMl(with({0, ln2, ln5}, "SOFTMAX"), {RowI({3}), F32({1, 3}, {0.125, 0.25, 0.625})},
           kRounding);
  ExpectMl(with({ln2, 0, ln6}, "SOFTMAX_ZERO"), {RowI({3}), F32({1, 3}, {0.25, 0, 0.75})},
           kRounding);
  ExpectMl(with({0, 0, 0}, "SOFTMAX_ZERO"), {RowI({1}), F32({1, 3}, {0.5, 0.5, 0.5})});
  // Quantiles of the normal distribution.
  ExpectMl(with({0.5, 0.975, 0.15865525}, "PROBIT"), {RowI({2}), F32({1, 3}, {0, 1.959964, -1})},
           4e-3);
  ExpectMlError(with({0, 0, 0}, "CUBIC"), "post_transform \"CUBIC\" is unknown");
}

OpRun Regression(const char* kernel, double x, Attrs attrs = {}) {
  attrs.Set("kernel_type", std::string(kernel));
  attrs.Set("kernel_params", Floats{0.5, 1, 2});
  attrs.Set("n_supports", int64_t{2});
  attrs.Set("support_vectors", Floats{0, 1});
  attrs.Set("coefficients", Floats{2, -1});
  attrs.Set("rho", Floats{0.5});
  return {"SVMRegressor", {F32({1, 1}, {x})}, attrs};
}

TEST(SvmRegressorTest, AddsKernels) {
  ExpectMl(Regression("LINEAR", 2), {F32({1, 1}, {-1.5})});          // 2·0 - 2 + 0.5
  ExpectMl(Regression("POLY", 2), {F32({1, 1}, {-1.5})});            // 2·1² - 2² + 0.5
  ExpectMl(Regression("RBF", 0), {F32({1, 1}, {1.8934693})}, 1e-6);  // 2 - exp(-0.5) + 0.5
  // 2 tanh(1) - tanh(2) + 0.5
  ExpectMl(Regression("SIGMOID", 2), {F32({1, 1}, {1.0591607})}, 1e-6);
}

TEST(SvmRegressorTest, OneClassGivesASign) {
  const Attrs attrs = {{"one_class", int64_t{1}}};
  ExpectMl(Regression("POLY", 2, attrs), {F32({1, 1}, {-1})});
  ExpectMl(Regression("RBF", 0, attrs), {F32({1, 1}, {1})});
}

TEST(SvmRegressorTest, IsLinearWithoutSupportVectors) {
  const Attrs attrs = {
      {"coefficients", Floats{2, -1}}, {"rho", Floats{0.5}}, {"kernel_type", std::string("RBF")}};
  ExpectMl({"SVMRegressor", {I64({1, 2}, {1, 1})}, attrs}, {F32({1, 1}, {1.5})});
}

// Kernels 1, 2, 3 of one vector per class. Pairs: 1·1 + 0·2 = 1, 2·1 - 1·3 + 0.5 = -0.5,
// 1·2 + 0·3 - 1 = 1: one vote each, and the first class wins.
TEST(SvmClassifierTest, ClassesVoteInPairs) {
  const Attrs attrs = {{"support_vectors", Floats{1, 2, 3}},
                       {"vectors_per_class", Ints{1, 1, 1}},
                       {"coefficients", Floats{1, 0, -1, 2, 1, 0}},
                       {"rho", Floats{0, 0.5, -1}},
                       {"classlabels_ints", Ints{10, 20, 30}}};
  ExpectMl({"SVMClassifier", {F32({1, 1}, {1})}, attrs, 2},
           {RowI({10}), F32({1, 3}, {1, -0.5, 1})});
}

TEST(SvmClassifierTest, OfTwoClassesAPositiveDecisionIsTheFirst) {
  Attrs attrs = {{"support_vectors", Floats{1, 2}},
                 {"vectors_per_class", Ints{1, 1}},
                 {"coefficients", Floats{1, -1}},
                 {"rho", Floats{0.5}},
                 {"classlabels_ints", Ints{10, 20}}};
  const HostTensor x = F32({2, 1}, {1, -1});  // decisions -0.5 and 1.5
  ExpectMl({"SVMClassifier", {x}, attrs, 2}, {RowI({20, 10}), F32({2, 2}, {0.5, -0.5, -1.5, 1.5})});
  // The probability of the first class: 1 / (1 + exp(0.5)), 1 / (1 + exp(-1.5)), to libsvm's
  // tolerance.
  attrs.Set("prob_a", Floats{-1});
  attrs.Set("prob_b", Floats{0});
  ExpectMl({"SVMClassifier", {x}, attrs, 2},
           {RowI({20, 10}), F32({2, 2}, {0.3775407, 0.6224593, 0.8175745, 0.1824255})}, 3e-3);
}

TEST(SvmClassifierTest, IsLinearWithoutSupportVectors) {
  const Attrs attrs = {
      {"coefficients", Floats{1, -1}}, {"rho", Floats{0.25}}, {"classlabels_ints", Ints{10, 20}}};
  ExpectMl({"SVMClassifier", {Row({2})}, attrs, 2}, {RowI({10}), F32({1, 2}, {2.25, -1.75})});
}

}  // namespace
}  // namespace onnx_cudnn
