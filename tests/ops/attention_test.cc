// Forms of Attention beyond the case rows; numbers by hand. ln 3 = 1.0986 as a score weighs a key
// three times as much as 0.
#include <string>

#include "gtest/gtest.h"
#include "runtime/ops/op_table.h"
#include "tests/ops/cases.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

constexpr double kLn3 = 1.0986123;

// One channel per head.
HostTensor Heads(Dims dims, const std::vector<double>& values) {
  return TensorOf(DType::kF16, std::move(dims), values);
}

void ExpectNear(const OpRun& run, const std::vector<double>& expected) {
  const Numbers found = RunForNumbers(run);
  ASSERT_EQ(found.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found.values[i], expected[i], 4e-3) << "element " << i;
  }
}

TEST(AttentionOpTest, CausalQueriesSeeNoKeyBehindThem) {
  const HostTensor zeros = Heads({1, 1, 3, 1}, {0, 0, 0}), v = Heads({1, 1, 3, 1}, {1, 3, 8});
  ExpectNear({"Attention", {zeros, zeros, v}, {{"is_causal", int64_t{1}}}}, {1, 2, 4});
  const HostTensor one = Heads({1, 1, 1, 1}, {0});
  ExpectNear({"Attention", {one, zeros, v}, {{"is_causal", int64_t{1}}}}, {1});
}

TEST(AttentionOpTest, AdjacentHeadsOfQShareOneOfK) {
  const HostTensor q = Heads({1, 4, 1, 1}, {0, 1, 0, 1});
  const HostTensor k = Heads({1, 2, 2, 1}, {kLn3, 0, 0, kLn3});
  const HostTensor v = Heads({1, 2, 2, 1}, {0, 4, 40, 80});
  ExpectNear({"Attention", {q, k, v}}, {2, 1, 60, 70});
}

TEST(AttentionOpTest, ABoolMaskSelectsKeys) {
  const HostTensor zeros = Heads({2, 1, 2, 1}, {0, 0, 0, 0});
  const HostTensor v = Heads({2, 1, 2, 1}, {2, 6, 10, 30});
  ExpectNear({"Attention", {zeros, zeros, v, Bools({2, 1, 1, 2}, {1, 0, 1, 1})}}, {2, 2, 20, 20});
  ExpectNear({"Attention", {zeros, zeros, v, Bools({2, 2}, {0, 0, 0, 1})}}, {0, 6, 0, 30});
}

TEST(AttentionOpTest, TheScaleIsThatOfTheHeads) {  // 1 / sqrt(4)
  const HostTensor q = Heads({1, 1, 1, 4}, {1, 1, 0, 0});
  const HostTensor k = Heads({1, 1, 2, 4}, {kLn3, kLn3, 9, 9, 0, 0, 9, 9});
  const HostTensor v = Heads({1, 1, 2, 1}, {0, 4});
  ExpectNear({"Attention", {q, k, v}}, {1});
  ExpectNear({"Attention", {q, k, v}, {{"scale", 0.0F}}}, {2});
}

TEST(AttentionOpTest, ANanStaysInItsRow) {
  const HostTensor q = Heads({1, 1, 2, 1}, {kNaN, 0}), k = Heads({1, 1, 2, 1}, {0, 0});
  const Numbers y = RunForNumbers({"Attention", {q, k, Heads({1, 1, 2, 1}, {1, 3})}});
  EXPECT_TRUE(std::isnan(y.values[0]));
  EXPECT_EQ(y.values[1], 2);
}

TEST(AttentionOpTest, OtherFormsAreLeftToTheFunction) {
  const auto reason = [](std::string_view inputs, std::string_view node) {
    const Graph graph =
        GraphFromText("g (" + std::string(inputs) + ") => (y) { " + std::string(node) + " }");
    return CheckOp(*graph.TopologicalOrder().back()).reason();
  };
  const std::string heads = "float16[2,4,5,8] q, float16[2,4,7,8] k, float16[2,4,7,8] v";
  const std::string alone = "y = Attention(q, k, v)";
  EXPECT_EQ(reason(heads, alone), "");
  const auto expect = [&](std::string_view says, std::string_view inputs, std::string_view node) {
    const std::string found = reason(inputs, node);
    EXPECT_NE(found.find(says), std::string::npos) << found;
  };
  expect("the type is not implemented", "float[2,4,5,8] q, float[2,4,7,8] k, float[2,4,7,8] v",
         alone);
  expect("rank 3, expected 4", "float16[2,5,32] q, float16[2,7,32] k, float16[2,7,32] v",
         "y = Attention<q_num_heads = 4, kv_num_heads = 4>(q, k, v)");
  expect("its scores are capped", heads, "y = Attention<softcap = 2.0>(q, k, v)");
  expect("it has a window", heads, "y = Attention<left_window_size = 2>(q, k, v)");
  expect("it has a cache", heads + ", float16[2,4,3,8] p", "y, a, b = Attention(q, k, v, , p, p)");
  const std::string lengths = heads + ", int64[2] n";
  EXPECT_EQ(reason(lengths, "y = Attention(q, k, v, , , , n)"), "");
  expect("it is causal and has lengths", lengths, "y = Attention<is_causal = 1>(q, k, v, , , , n)");
  expect("not one per batch", heads + ", int64[3] n", "y = Attention(q, k, v, , , , n)");
  expect("do not fit together", "float16[2,4,5,8] q, float16[2,3,7,8] k, float16[2,3,7,8] v",
         alone);
}

}  // namespace
}  // namespace onnx_cudnn
