// Determinants and inverses beside the largest matrices that shared memory holds, with pivots in
// other rows, of NaN, and several for a block.
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

constexpr char kDet[] = "Det", kInverse[] = "com.microsoft.Inverse";

// Ones, one in each row and column, and small numbers around them.
std::vector<double> Invertible(int64_t n) {
  std::vector<double> numbers = Pattern(n * n, /*seed=*/1);
  for (double& x : numbers) x /= 64;
  for (int64_t row = 0; row < n; ++row) numbers[row * n + (17 * row + 3) % n] += 1;
  return numbers;
}

class EliminationCodeTest : public KernelsTest {
 protected:
  void Check(const char* op, const char* type, const Dims& dims,
             const std::vector<double>& numbers) {
    const std::string text =
        absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]> g ()", type,
                     "[", absl::StrJoin(dims, ","), "] x) => (y) { y = ", op, "(x) }");
    SCOPED_TRACE(text);
    const Graph graph = GraphFromText(text);
    const DType dtype = graph.inputs()[0]->dtype();
    const auto candidates = At(graph, *graph.TopologicalOrder()[0]).candidates;
    ASSERT_EQ(candidates.size(), 1u);
    const auto code = CompileVariant(candidates[0], {.text = "elimination"}, target_);
    ASSERT_TRUE(code.ok()) << code.status();
    workspace_bytes_ = code->workspace_bytes;
    EXPECT_EQ(emulator::CompareWithReference(code, candidates[0], {TensorOf(dtype, dims, numbers)},
                                             emulator::ToleranceOf(dtype, 2e-5)),
              "");
  }
  void CheckOne(const char* op, const char* type, int64_t n) {
    Check(op, type, {n, n}, Invertible(n));
  }
  int64_t workspace_bytes_ = -1;  // of the last code
};

TEST_F(EliminationCodeTest, MatricesInSharedMemory) {
  for (const int64_t n : {1, 5, 33, 78}) {
    CheckOne(kDet, "double", n);
    CheckOne(kDet, "bfloat16", n);
    CheckOne(kInverse, "float", n);
    CheckOne(kInverse, "float16", n);
    EXPECT_EQ(workspace_bytes_, 0);
  }
  CheckOne(kInverse, "double", 55);
  EXPECT_EQ(workspace_bytes_, 0);
}

TEST_F(EliminationCodeTest, LargerMatricesAreInTheWorkspace) {
  CheckOne(kDet, "float", 79);
  EXPECT_EQ(workspace_bytes_, 79 * 79 * 8);
  CheckOne(kInverse, "float", 79);
  EXPECT_EQ(workspace_bytes_, 79 * 158 * 4);
  CheckOne(kInverse, "double", 56);
  EXPECT_EQ(workspace_bytes_, 56 * 112 * 8);
}

TEST_F(EliminationCodeTest, ABlockTakesSeveralMatrices) {
  constexpr int64_t kMatrices = 5000;  // of 4,096 blocks
  std::vector<double> numbers = Pattern(kMatrices * 4, /*seed=*/2);
  for (int64_t i = 0; i < kMatrices; ++i) numbers[4 * i + 1] += i % 2 == 0 ? 8 : -8;
  for (int64_t i = 0; i < kMatrices; ++i) numbers[4 * i + 2] += 8;
  Check(kDet, "float", {kMatrices, 2, 2}, numbers);
  Check(kInverse, "float", {kMatrices, 2, 2}, numbers);
}

TEST_F(EliminationCodeTest, NaNIsNoPivotButInTheFirstRow) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Dims dims = {4, 2, 2};
  const std::vector<double> numbers = {kNan, 1,    2, 3, 1, 2, kNan,      3,
                                       1,    kNan, 2, 3, 0, 1, kInfinity, 2};
  for (const char* op : {kDet, kInverse}) Check(op, "float", dims, numbers);
}

}  // namespace
}  // namespace onnx_cudnn
