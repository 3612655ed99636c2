// TopK of rows for a warp and for a block, in rounds of tiles and by sorting; numbers in random
// order, in order, equal, and with NaN.
#include <limits>

#include "absl/strings/substitute.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

using Numbers64 = std::vector<double>;

// Integers from 0 to 250 in an order without a pattern.
Numbers64 Mixed(int64_t count) {
  Numbers64 numbers(count);
  uint32_t state = 1;
  for (double& x : numbers) {
    state = state * 1664525 + 1013904223;
    x = static_cast<double>((state >> 16) % 251);
  }
  return numbers;
}

class TopKCodeTest : public KernelsTest {
 protected:
  void Check(const std::string& type, const Dims& dims, int64_t k, const Numbers64& numbers,
             int axis = 1) {
    for (const int largest : {0, 1}) {
      const std::string text = absl::Substitute(
          "g ($0[$1,$2] x) => (y, i) <int64[1] k = {$3}> { y, i = TopK<axis = $4, largest = $5>(x, "
          "k) }",
          type, dims[0], dims[1], k, axis, largest);
      SCOPED_TRACE(text);
      const Graph graph = GraphFromText(text);
      const HostTensor x = TensorOf(graph.inputs()[0]->dtype(), dims, numbers);
      const auto candidates = At(graph, "TopK").candidates;
      ASSERT_FALSE(candidates.empty());
      const auto code = CompileVariant(candidates[0], {.text = "top_k"}, target_);
      ASSERT_TRUE(code.ok()) << code.status();
      calls_ = code->calls.size();
      EXPECT_EQ(emulator::CompareWithReference(code, candidates[0], {x}, 0), "");
    }
  }
  void Check(const std::string& type, const Dims& dims, int64_t k, int axis = 1) {
    Check(type, dims, k, Mixed(dims[0] * dims[1]), axis);
  }
  size_t calls_ = 0;  // of the last code
};

TEST_F(TopKCodeTest, RowsOfAWarp) {
  for (const char* type : {"float", "float16"}) {
    for (const auto& [columns, k] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {7, 1}, {7, 7}, {33, 5}, {128, 8}, {1000, 16}, {1023, 32}, {1024, 64}}) {
      Check(type, {6, columns}, k);
      EXPECT_EQ(calls_, 1u);
    }
  }
}

TEST_F(TopKCodeTest, EveryType) {
  for (const char* type : {"bfloat16", "double", "int8", "uint8", "int16", "uint16", "int32",
                           "uint32", "int64", "uint64"}) {
    Numbers64 numbers = Mixed(3 * 528);
    const bool has_sign = type[0] != 'u';
    for (double& x : numbers) x = has_sign ? x - 125 : x;
    Check(type, {3, 528}, 10, numbers);
    Check(type, {3, 528}, 200, numbers);
  }
}

TEST_F(TopKCodeTest, RowsOfABlock) {
  for (const char* type : {"float", "float16", "int64"}) {
    Check(type, {2, 4096}, 50);
    Check(type, {2, 4099}, 1);
    Check(type, {1, 5000}, 300);
    Check(type, {1, 2048}, 2048);
    Check(type, {1, 1500}, 1024);
    EXPECT_EQ(calls_, 1u);
  }
}

TEST_F(TopKCodeTest, LongRowsTakeRounds) {
  for (const char* type : {"float", "float16", "double"}) {
    Check(type, {2, 20000}, 9);
    EXPECT_EQ(calls_, 2u);
    Check(type, {1, 40001}, 700);
    EXPECT_EQ(calls_, 2u);
    Check(type, {1, 16385}, 1024);  // the last tile has one element
  }
}

TEST_F(TopKCodeTest, ALargeKSortsWholeRows) {
  Check("float16", {2, 3000}, 1500);
  EXPECT_GT(calls_, 2u);
  Check("double", {1, 2500}, 2500);
}

TEST_F(TopKCodeTest, AnyAxis) {
  Check("float", {1000, 3}, 16, /*axis=*/0);
  Check("float16", {20, 40}, 3, /*axis=*/0);
}

TEST_F(TopKCodeTest, EqualSortedAndSpecialNumbers) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Dims& dims : {Dims{3, 1024}, Dims{1, 3000}}) {
    Numbers64 equal(dims[0] * dims[1], 1), ascending = equal, special = Mixed(dims[0] * dims[1]);
    Numbers64 few_nan = special, zeros = equal;
    for (size_t i = 0; i < equal.size(); ++i) {
      ascending[i] = static_cast<double>(i);
      zeros[i] = i % 3 == 0 ? -0.0 : 0.0;
      if (i % 3 != 0) special[i] = i % 3 == 1 ? kNan : -kInfinity;
      if (i % 97 == 5) few_nan[i] = kNan;
    }
    for (const char* type : {"float", "float16", "double"}) {
      for (const int64_t k : {1, 16, 200}) {
        for (const Numbers64& numbers : {equal, ascending, zeros, special, few_nan}) {
          Check(type, dims, k, numbers);
        }
      }
    }
  }
}

}  // namespace
}  // namespace onnx_cudnn
