#include "tests/onnx_backend/random_rules.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/onnx_backend/vectors.h"

namespace onnx_cudnn {
namespace {

HostTensor Floats(const std::vector<float>& values) {
  return HostTensor::Of<float>(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}
HostTensor Bits(const std::vector<bool>& values) {
  HostTensor bits = HostTensor::Allocate(DType::kBool, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) bits.mutable_data<uint8_t>()[i] = values[i] ? 1 : 0;
  return bits;
}

std::string Judge(std::string_view vector, const NamedTensors& given, const NamedTensors& found,
                  int runs = 1) {
  Tally tally;
  for (int run = 0; run < runs; ++run) {
    std::string wrong = FindRandomRule(vector)(given, found, tally);
    if (!wrong.empty()) return wrong;
  }
  return tally.Wrong();
}

TEST(RandomRulesTest, ABernoulliOutputIsZeroOrOne) {
  const NamedTensors given = {{"x", Floats({0.5, 0.5})}};
  EXPECT_EQ(Judge("node/test_bernoulli", given, {{"y", Floats({0, 1})}}), "");
  EXPECT_EQ(Judge("node/test_bernoulli", given, {{"y", Floats({0, 0.5})}}),
            "element 1 is 0.5, not 0 or 1");
}

TEST(RandomRulesTest, TheShareOfOnesIsTheProbability) {
  const NamedTensors given = {{"x", Floats({0.75, 0.75, 0.75, 0.75})}};
  const NamedTensors three = {{"y", Floats({1, 0, 1, 1})}}, one = {{"y", Floats({0, 0, 1, 0})}};
  EXPECT_EQ(Judge("node/test_bernoulli", given, three, 100), "");
  EXPECT_EQ(Judge("node/test_bernoulli", given, one, 100), "100 ones, expected about 300");
  EXPECT_EQ(Judge("node/test_bernoulli_expanded", given, one, 100), "");
  EXPECT_EQ(Judge("node/test_bernoulli_expanded", given, three, 100),
            "300 ones, expected about 100");
}

TEST(RandomRulesTest, DropoutKeepsScaledElementsOfItsMask) {
  const char* vector = "node/test_training_dropout_mask";
  const NamedTensors given = {{"x", Floats({1, 2})}, {"r", Floats({0.75})}};
  const HostTensor y = Floats({0, 8});
  EXPECT_EQ(Judge(vector, given, {{"y", y}, {"z", Bits({false, true})}}), "");
  EXPECT_EQ(Judge(vector, given, {{"y", y}, {"z", Bits({true, true})}}),
            "element 0 is 0, expected 4");
  EXPECT_EQ(Judge(vector, given, {{"y", y}, {"z", Bits({false, false})}}),
            "element 1 is 8, expected 0");
  EXPECT_EQ(Judge(vector, given, {{"y", Floats({0, 2})}}), "element 1 is 2, expected 8");
  EXPECT_EQ(Judge(vector, given, {{"y", Floats({4, 8})}}, 100), "200 ones, expected about 50");
}

TEST(RandomRulesTest, OtherVectorsAreCompared) {
  EXPECT_EQ(FindRandomRule("node/test_training_dropout_zero_ratio"), nullptr);
  EXPECT_EQ(FindRandomRule("node/test_add"), nullptr);
}

TEST(RandomRulesTest, TenVectorsAreRandom) {
  int random = 0;
  for (const TestVector& vector : FindVectors("node")) {
    random += FindRandomRule(vector.name) != nullptr;
  }
  EXPECT_EQ(random, 10);
}

}  // namespace
}  // namespace onnx_cudnn
