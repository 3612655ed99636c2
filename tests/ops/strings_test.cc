#include "runtime/ops/strings.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

using Strings = std::vector<std::string>;

constexpr int64_t kPlenty = 1 << 20;

HostTensor Text(Strings values) {
  const auto count = static_cast<int64_t>(values.size());
  return HostTensor::Strings({count}, std::move(values));
}

// One Node of constants.
struct OneNode {
  Graph graph;
  Node* node;

  OneNode(std::string op, const std::vector<HostTensor>& inputs, Attrs attrs = {},
          const std::vector<Type>& outputs = {}) {
    NodeSpec spec{.op = std::move(op), .attrs = std::move(attrs)};
    for (const HostTensor& input : inputs) spec.inputs.push_back(&graph.AddConstant(input));
    spec.outputs.resize(std::max<size_t>(outputs.size(), 1), "*");
    node = &graph.AddNode(std::move(spec));
    for (size_t i = 0; i < outputs.size(); ++i) graph.SetType(node->output(i), outputs[i]);
  }

  HostTensor Output(int i = 0) const {
    const auto outputs = EvaluateStrings(*node, kPlenty);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? (*outputs)[i] : HostTensor::Strings({0}, {});
  }
  absl::Status Refusal(int64_t most_bytes = kPlenty) const {
    return EvaluateStrings(*node, most_bytes).status();
  }
};

void ExpectStrings(const HostTensor& found, const Dims& dims, const Strings& values) {
  EXPECT_EQ(found.dims(), dims);
  EXPECT_EQ(found.strings(), values);
}

void ExpectRefused(const absl::Status& status, absl::StatusCode code, std::string_view message) {
  EXPECT_EQ(status.code(), code);
  EXPECT_TRUE(absl::StrContains(status.message(), message)) << status;
}

Type StringsOf(const Dims& dims) { return Type::Tensor(DType::kString, dims); }

TEST(StringNormalizerTest, DropsStopwordsThenChangesCase) {
  const Attrs attrs = {{"case_change_action", std::string("UPPER")},
                       {"is_case_sensitive", int64_t{1}},
                       {"stopwords", Strings{"a", "b"}}};
  ExpectStrings(OneNode("StringNormalizer", {Text({"a", "A", "xy", "b"})}, attrs).Output(), {2},
                {"A", "XY"});
}

TEST(StringNormalizerTest, ComparesWithoutCaseByDefault) {
  const Attrs attrs = {{"stopwords", Strings{"Monday"}}};
  const HostTensor row = HostTensor::Strings({1, 3}, {"MONDAY", "Friday", "monday"});
  ExpectStrings(OneNode("StringNormalizer", {row}, attrs).Output(), {1, 1}, {"Friday"});
}

TEST(StringNormalizerTest, GivesOneEmptyStringForNone) {
  const Attrs attrs = {{"stopwords", Strings{"a"}}};
  ExpectStrings(OneNode("StringNormalizer", {Text({"a", "A"})}, attrs).Output(), {1}, {""});
  ExpectStrings(OneNode("StringNormalizer", {HostTensor::Strings({1, 0}, {})}).Output(), {1, 1},
                {""});
}

TEST(StringNormalizerTest, RefusesCaseBeyondAscii) {
  ExpectStrings(OneNode("StringNormalizer", {Text({"Ä"})}).Output(), {1}, {"Ä"});
  const Attrs lower = {{"case_change_action", std::string("LOWER")}};
  ExpectRefused(OneNode("StringNormalizer", {Text({"Ä"})}, lower).Refusal(),
                absl::StatusCode::kUnimplemented,
                "StringNormalizer (opset 28) on string: the case of letters beyond ASCII");
}

TEST(StringNormalizerTest, RefusesOtherDimsAndActions) {
  ExpectRefused(OneNode("StringNormalizer", {HostTensor::Strings({2, 1}, {"a", "b"})}).Refusal(),
                absl::StatusCode::kInvalidArgument, "expected dims [C] or [1,C], found [2,1]");
  const Attrs attrs = {{"case_change_action", std::string("TITLE")}};
  ExpectRefused(OneNode("StringNormalizer", {Text({"a"})}, attrs).Refusal(),
                absl::StatusCode::kInvalidArgument, "case_change_action is \"TITLE\"");
}

TEST(StringConcatTest, Broadcasts) {
  const HostTensor column = HostTensor::Strings({2, 1}, {"a", "b"});
  ExpectStrings(
      OneNode("StringConcat", {column, Text({"x", "y", ""})}, {}, {StringsOf({2, 3})}).Output(),
      {2, 3}, {"ax", "ay", "a", "bx", "by", "b"});
  ExpectStrings(OneNode("StringConcat", {HostTensor::Strings({}, {"a"}), Text({"x", "y"})}, {},
                        {StringsOf({2})})
                    .Output(),
                {2}, {"ax", "ay"});
}

TEST(StringConcatTest, RefusesDimsThatDoNotFit) {
  for (const Dims& dims : {Dims{2}, Dims{}}) {
    ExpectRefused(
        OneNode("StringConcat", {Text({"a"}), Text({"x", "y", "z"})}, {}, {StringsOf(dims)})
            .Refusal(),
        absl::StatusCode::kInvalidArgument, "does not broadcast to");
  }
}

TEST(StringSplitTest, SplitsAtADelimiter) {
  const Attrs attrs = {{"delimiter", std::string("ab")}};
  const OneNode split("StringSplit", {Text({"1ab2", "", "abab", "3"})}, attrs, {{}, {}});
  ExpectStrings(split.Output(0), {4, 3}, {"1", "2", "", "", "", "", "", "", "", "3", "", ""});
  EXPECT_EQ(ToInts(split.Output(1)).value(), (std::vector<int64_t>{2, 1, 3, 1}));
}

TEST(StringSplitTest, SplitsAtRunsOfSpaceWithoutOne) {
  ExpectStrings(OneNode("StringSplit", {Text({" a\t b ", "  "})}).Output(), {2, 2},
                {"a", "b", "", ""});
}

TEST(StringSplitTest, StopsAfterMaxsplit) {
  const Attrs one = {{"maxsplit", int64_t{1}}};
  ExpectStrings(OneNode("StringSplit", {Text({" a  b c "})}, one).Output(), {1, 2}, {"a", "b c"});
  const Attrs comma = {{"delimiter", std::string(",")}, {"maxsplit", int64_t{1}}};
  ExpectStrings(OneNode("StringSplit", {Text({"a,b,c"})}, comma).Output(), {1, 2}, {"a", "b,c"});
  const Attrs none = {{"maxsplit", int64_t{0}}};
  ExpectStrings(OneNode("StringSplit", {Text({" a b "})}, none).Output(), {1, 1}, {"a b"});
}

TEST(StringMovesTest, CompareAndChoose) {
  const Type bools = Type::Tensor(DType::kBool, {2});
  const OneNode equal("Equal", {Text({"a", "b"}), Text({"a", "c"})}, {}, {bools});
  EXPECT_EQ(ToInts(equal.Output()).value(), (std::vector<int64_t>{1, 0}));
  const HostTensor condition = HostTensor::Of<bool>(DType::kBool, {2}, {false, true});
  ExpectStrings(
      OneNode("Where", {condition, Text({"a", "b"}), Text({"c", "d"})}, {}, {StringsOf({2})})
          .Output(),
      {2}, {"c", "b"});
}

TEST(StringMovesTest, MoveElements) {
  ExpectStrings(
      OneNode("Concat", {Text({"a"}), Text({"b", "a"})}, {{"axis", int64_t{0}}}, {StringsOf({3})})
          .Output(),
      {3}, {"a", "b", "a"});
  ExpectStrings(
      OneNode("Gather", {Text({"a", "b"}), HostTensor::Ints({1, -1, 0})}, {}, {StringsOf({3})})
          .Output(),
      {3}, {"b", "b", "a"});
  const OneNode split("Split", {Text({"a", "b", "c"}), HostTensor::Ints({1, 2})}, {},
                      {StringsOf({1}), StringsOf({2})});
  ExpectStrings(split.Output(1), {2}, {"b", "c"});
}

TEST(StringMovesTest, PadWithEmptyStrings) {
  ExpectStrings(
      OneNode("Pad", {Text({"a"}), HostTensor::Ints({1, 1})}, {}, {StringsOf({3})}).Output(), {3},
      {"", "a", ""});
}

TEST(StringMovesTest, CountPhrases) {  // "b", and "a b" next to each other
  const Attrs attrs = {{"mode", std::string("TF")},
                       {"min_gram_length", int64_t{1}},
                       {"max_gram_length", int64_t{2}},
                       {"max_skip_count", int64_t{0}},
                       {"ngram_counts", std::vector<int64_t>{0, 1}},
                       {"ngram_indexes", std::vector<int64_t>{0, 1}},
                       {"pool_strings", Strings{"b", "a", "b"}}};
  const OneNode counts("TfIdfVectorizer", {Text({"a", "b", "x", "b"})}, attrs,
                       {Type::Tensor(DType::kF32, {2})});
  const HostTensor found = counts.Output();
  EXPECT_EQ(found.data<float>()[0], 2);
  EXPECT_EQ(found.data<float>()[1], 1);
}

TEST(StringMovesTest, WeighPhrasesInTheOrderOfThePool) {  // the phrases a, c and "a b"
  const Attrs attrs = {{"mode", std::string("TFIDF")},
                       {"min_gram_length", int64_t{1}},
                       {"max_gram_length", int64_t{2}},
                       {"max_skip_count", int64_t{0}},
                       {"ngram_counts", std::vector<int64_t>{0, 2}},
                       {"ngram_indexes", std::vector<int64_t>{2, 1, 0}},
                       {"pool_strings", Strings{"a", "c", "a", "b"}},
                       {"weights", std::vector<float>{0.25F, 0.75F, 2}}};
  const OneNode weighed("TfIdfVectorizer", {Text({"a", "c", "b", "d", "a"})}, attrs,
                        {Type::Tensor(DType::kF32, {3})});
  const HostTensor found = weighed.Output();
  EXPECT_EQ(found.data<float>()[0], 0);
  EXPECT_EQ(found.data<float>()[1], 0.75F);
  EXPECT_EQ(found.data<float>()[2], 2 * 0.25F);
}

TEST(EvaluateStringsTest, StopsAtItsLimit) {
  const OneNode tile("Tile", {Text({"a"}), HostTensor::Ints({1'000'000'000})}, {},
                     {StringsOf({1'000'000'000})});
  ExpectRefused(tile.Refusal(), absl::StatusCode::kResourceExhausted, "Tile (opset 28) on string");
  const HostTensor longer = Text({std::string(1000, 'x')});
  const OneNode concat("StringConcat", {longer, longer}, {}, {StringsOf({1})});
  ExpectRefused(concat.Refusal(1999), absl::StatusCode::kResourceExhausted, "above the limit");
  const OneNode wide("StringSplit", {Text({std::string(1000, ','), "", "", ""})},
                     {{"delimiter", std::string(",")}});
  ExpectRefused(wide.Refusal(100'000), absl::StatusCode::kResourceExhausted, "above the limit");
}

TEST(EvaluateStringsTest, RefusesWhatIsUnknown) {
  ExpectRefused(OneNode("RegexFullMatch", {Text({"a"})}).Refusal(),
                absl::StatusCode::kUnimplemented,
                "RegexFullMatch (opset 28) on string: the op is not implemented");
  OneNode one("Concat", {Text({"a"})}, {{"axis", int64_t{0}}}, {StringsOf({1})});
  one.graph.SetInput(*one.node, 0, &one.graph.AddInput("x", StringsOf({1})));
  ExpectRefused(one.Refusal(), absl::StatusCode::kUnimplemented,
                "input x is not known before the Run");
  ExpectRefused(OneNode("Concat", {Text({"a"})}, {{"axis", int64_t{0}}}).Refusal(),
                absl::StatusCode::kUnimplemented, "the shape of an output is not known");
}

TEST(EvaluateStringsTest, ReportsIndicesOutOfRange) {
  ExpectRefused(
      OneNode("Gather", {Text({"a"}), HostTensor::Ints({7})}, {}, {StringsOf({1})}).Refusal(),
      absl::StatusCode::kInvalidArgument, "7");
}

}  // namespace
}  // namespace onnx_cudnn
