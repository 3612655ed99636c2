#include "runtime/ops/strings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/ops/evaluate.h"

namespace onnx_cudnn {
namespace {

using Strings = std::vector<std::string>;

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
    const auto outputs = EvaluateConstants(*node);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? (*outputs)[i] : HostTensor::Strings({0}, {});
  }
  absl::Status Refusal() const { return EvaluateConstants(*node).status(); }
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

TEST(StringNormalizerTest, ChangesLettersOfAnyScript) {
  const Attrs lower = {{"case_change_action", std::string("LOWER")}};
  ExpectStrings(
      OneNode("StringNormalizer", {Text({"ÄÉ", "ЖИЗНЬ", "ΣΑΣ", "İ", "ẞ"})}, lower).Output(), {5},
      {"äé", "жизнь", "σασ", "i\u0307", "ß"});
  const Attrs upper = {{"case_change_action", std::string("UPPER")}};
  ExpectStrings(
      OneNode("StringNormalizer", {Text({"äé", "σας", "straße", "ﬁn", "ı", "日本"})}, upper)
          .Output(),
      {6}, {"ÄÉ", "ΣΑΣ", "STRASSE", "FIN", "I", "日本"});
}

TEST(StringNormalizerTest, ComparesLettersOfAnyScriptWithoutCase) {
  const Attrs attrs = {{"stopwords", Strings{"STRASSE", "Éé"}}};
  ExpectStrings(OneNode("StringNormalizer", {Text({"Straße", "ÉÉ", "ee"})}, attrs).Output(), {1},
                {"ee"});
}

TEST(StringNormalizerTest, NamesBytesThatAreNoText) {
  const Attrs lower = {{"case_change_action", std::string("LOWER")}};
  ExpectRefused(OneNode("StringNormalizer", {Text({"a", "b\xff"})}, lower).Refusal(),
                absl::StatusCode::kInvalidArgument, "element 1: byte 1 is not UTF-8");
  const Attrs stopwords = {{"stopwords", Strings{"\xc3"}}};
  ExpectRefused(OneNode("StringNormalizer", {Text({"a"})}, stopwords).Refusal(),
                absl::StatusCode::kInvalidArgument, "stopword 0: byte 0 is not UTF-8");
}

TEST(StringNormalizerTest, RefusesLanguagesWithRulesOfTheirOwn) {
  const auto with = [](std::string locale) {
    return OneNode("StringNormalizer", {Text({"I"})},
                   {{"case_change_action", std::string("LOWER")}, {"locale", std::move(locale)}});
  };
  for (const std::string locale : {"tr_TR", "az", "LT-lt", "tr.UTF-8"}) {
    ExpectRefused(with(locale).Refusal(), absl::StatusCode::kUnimplemented,
                  absl::StrCat("StringNormalizer (opset 28) on string: locale \"", locale,
                               "\": the language has rules of its own"));
  }
  ExpectStrings(with("de_DE").Output(), {1}, {"i"});
  ExpectStrings(with("").Output(), {1}, {"i"});
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

TEST(RegexFullMatchTest, MatchesTheWholeText) {
  const HostTensor x =
      HostTensor::Strings({2, 2}, {"www.google.com", "www.google.com/", "", "é.com"});
  const OneNode match("RegexFullMatch", {x}, {{"pattern", std::string(R"((\pL|\.){4,}com)")}});
  EXPECT_EQ(match.Output().dims(), (Dims{2, 2}));
  EXPECT_EQ(ToInts(match.Output()).value(), (std::vector<int64_t>{1, 0, 0, 0}));
  const OneNode dots("RegexFullMatch", {Text({"é", "ab"})}, {{"pattern", std::string(".")}});
  EXPECT_EQ(ToInts(dots.Output()).value(), (std::vector<int64_t>{1, 0}));
}

TEST(RegexFullMatchTest, ReportsAPatternThatIsNone) {
  ExpectRefused(
      OneNode("RegexFullMatch", {Text({"a"})}, {{"pattern", std::string("(a")}}).Refusal(),
      absl::StatusCode::kInvalidArgument,
      "RegexFullMatch (opset 28) on string: pattern: missing ): (a");
  ExpectRefused(OneNode("RegexFullMatch", {Text({"a"})},
                        {{"pattern", std::string("((a{1000}){1000}){1000}")}})
                    .Refusal(),
                absl::StatusCode::kInvalidArgument, "pattern: ");
}

HostTensor CastTo(DType to, const HostTensor& x, Attrs attrs = {}) {
  attrs.Set("to", static_cast<int64_t>(to));
  return OneNode("Cast", {x}, std::move(attrs), {Type::Tensor(to, x.dims())}).Output();
}

template <typename T>
void ExpectNumbers(const HostTensor& found, const std::vector<T>& expected) {
  const auto numbers = found.data<T>();
  EXPECT_EQ(std::vector<T>(numbers.begin(), numbers.end()), expected);
}

TEST(CastStringsTest, WritesNumbers) {
  const float inf = std::numeric_limits<float>::infinity();
  const HostTensor floats = HostTensor::Of<float>(
      DType::kF32, {9}, {0.1F, -3, 100000, 1e-7F, 3.4028235e38F, -0.0F, inf, -inf, std::nanf("")});
  ExpectStrings(CastTo(DType::kString, floats), {9},
                {"0.1", "-3", "100000", "1e-07", "3.4028235e+38", "-0", "INF", "-INF", "NaN"});
  ExpectStrings(CastTo(DType::kString, HostTensor::Of<double>(DType::kF64, {2}, {0.1, 1e16})), {2},
                {"0.1", "1e+16"});
  ExpectStrings(CastTo(DType::kString, HostTensor::Of<int8_t>(DType::kI8, {2}, {-128, 7})), {2},
                {"-128", "7"});
  ExpectStrings(
      CastTo(DType::kString, HostTensor::Of<uint64_t>(DType::kU64, {1}, {18446744073709551615U})),
      {1}, {"18446744073709551615"});
  ExpectStrings(CastTo(DType::kString, HostTensor::Of<bool>(DType::kBool, {2}, {true, false})), {2},
                {"1", "0"});
  ExpectStrings(CastTo(DType::kString, HostTensor::Of<uint16_t>(DType::kF16, {1}, {0x3555})), {1},
                {"0.33325195"});
  ExpectStrings(CastTo(DType::kString, HostTensor::Of<uint16_t>(DType::kBF16, {1}, {0x4049})), {1},
                {"3.140625"});
  ExpectStrings(CastTo(DType::kString, HostTensor::Of<uint8_t>(DType::kF8E4M3FN, {1}, {0x7e})), {1},
                {"448"});
}

TEST(CastStringsTest, ReadsFloats) {
  const HostTensor text =
      Text({"3.14", "1e-5", "1E8", "+2", " 7 ", "+INF", "inf", "-Inf", "1e400"});
  const float inf = std::numeric_limits<float>::infinity();
  ExpectNumbers<float>(CastTo(DType::kF32, text), {3.14F, 1e-5F, 1e8F, 2, 7, inf, inf, -inf, inf});
  EXPECT_TRUE(std::isnan(CastTo(DType::kF64, Text({"NaN"})).data<double>()[0]));
  ExpectNumbers<uint16_t>(CastTo(DType::kF16, Text({"0.33325195", "65520"})), {0x3555, 0x7c00});
  ExpectNumbers<uint16_t>(CastTo(DType::kBF16, Text({"3.140625"})), {0x4049});
  ExpectNumbers<uint8_t>(CastTo(DType::kF8E4M3FN, Text({"448", "1000"})), {0x7e, 0x7e});
  ExpectNumbers<uint8_t>(CastTo(DType::kF8E4M3FN, Text({"1000"}), {{"saturate", int64_t{0}}}),
                         {0x7f});
}

TEST(CastStringsTest, ReadsIntegers) {
  ExpectNumbers<int64_t>(CastTo(DType::kI64, Text({"-9223372036854775808", "100.5", "1e3"})),
                         {std::numeric_limits<int64_t>::min(), 100, 1000});
  ExpectNumbers<int8_t>(CastTo(DType::kI8, Text({"-128", "+127"})), {-128, 127});
  ExpectNumbers<uint64_t>(CastTo(DType::kU64, Text({"18446744073709551615"})),
                          {std::numeric_limits<uint64_t>::max()});
  ExpectNumbers<uint8_t>(CastTo(DType::kBool, Text({"0", "2"})), {0, 1});
}

TEST(CastStringsTest, NamesTextThatIsNoNumber) {
  const auto refuse = [](DType to, const std::string& text) {
    const HostTensor x = Text({"1", text});
    ExpectRefused(
        OneNode("Cast", {x}, {{"to", static_cast<int64_t>(to)}}, {Type::Tensor(to, {2})}).Refusal(),
        absl::StatusCode::kInvalidArgument,
        absl::StrCat("Cast (opset 28) on string: element 1 is \"", text,
                     "\", which is no number of ", NameOf(to)));
  };
  for (const std::string text : {"", "Hello World!", "1,5", "+-1", "0x10", "1 2"}) {
    refuse(DType::kF32, text);
    refuse(DType::kI32, text);
  }
  refuse(DType::kI8, "128");
  refuse(DType::kU8, "-1");
  refuse(DType::kI64, "9223372036854775808");
  refuse(DType::kI64, "NaN");
  refuse(DType::kU64, "1e30");
}

TEST(CastStringsTest, FollowTheTypeOfAnother) {
  const OneNode like("CastLike", {Text({"2"}), HostTensor::Of<int32_t>(DType::kI32, {1}, {0})}, {},
                     {Type::Tensor(DType::kI32, {1})});
  ExpectNumbers<int32_t>(like.Output(), {2});
  const OneNode text("CastLike", {HostTensor::Ints({2}), Text({"a"})}, {}, {StringsOf({1})});
  ExpectStrings(text.Output(), {1}, {"2"});
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

TEST(EvaluateTextTest, StopsAtItsLimit) {
  const OneNode tile("Tile", {Text({"a"}), HostTensor::Ints({1'000'000'000})}, {},
                     {StringsOf({1'000'000'000})});
  ExpectRefused(tile.Refusal(), absl::StatusCode::kResourceExhausted, "Tile (opset 28) on string");
  const HostTensor half = Text({std::string(kMostStringBytes / 2, 'x')});
  const OneNode concat("StringConcat", {half, half}, {}, {StringsOf({1})});
  ExpectRefused(concat.Refusal(), absl::StatusCode::kResourceExhausted,
                "its strings have more than 16777216 bytes");
  const OneNode wide("StringSplit", {Text({std::string(200'000, ','), "", "", ""})},
                     {{"delimiter", std::string(",")}});
  ExpectRefused(wide.Refusal(), absl::StatusCode::kResourceExhausted, "its strings have more");
  const OneNode cast("Cast", {HostTensor::Allocate(DType::kU8, {1'000'000})}, {{"to", int64_t{8}}},
                     {StringsOf({1'000'000})});
  ExpectRefused(cast.Refusal(), absl::StatusCode::kResourceExhausted, "its strings have more");
}

TEST(EvaluateTextTest, RefusesWhatIsUnknown) {
  ExpectRefused(OneNode("ImageDecoder", {Text({"a"})}).Refusal(), absl::StatusCode::kUnimplemented,
                "ImageDecoder (opset 28) on string: the type is not implemented");
  ExpectRefused(OneNode("Abs", {Text({"a"})}).Refusal(), absl::StatusCode::kUnimplemented,
                "Abs (opset 28) on string: the type is not implemented");
  OneNode one("Concat", {Text({"a"})}, {{"axis", int64_t{0}}}, {StringsOf({1})});
  one.graph.SetInput(*one.node, 0, &one.graph.AddInput("x", StringsOf({1})));
  ExpectRefused(one.Refusal(), absl::StatusCode::kUnimplemented,
                "input x is not known before the Run");
  ExpectRefused(OneNode("Concat", {Text({"a"})}, {{"axis", int64_t{0}}}).Refusal(),
                absl::StatusCode::kUnimplemented, "the shape of an output is not known");
}

TEST(EvaluateTextTest, ReportsIndicesOutOfRange) {
  ExpectRefused(
      OneNode("Gather", {Text({"a"}), HostTensor::Ints({7})}, {}, {StringsOf({1})}).Refusal(),
      absl::StatusCode::kInvalidArgument, "7");
}

}  // namespace
}  // namespace onnx_cudnn
