#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/row_moves.h"
#include "runtime/graph/float16.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kConstants =
    "int64[6] cut = {1, 2, 2, 2, 2, 8}, int64[3] rows = {4, 4, 8}, int64[4] image = {1, 4, 4, 8}, "
    "int64[1] one = {1}, int64[1] minus = {-1}, int64[1] none = {0}, int64[1] all = {1000}, "
    "int64[1] two = {2}, int64[1] across = {2}, int64[1] last = {3}, int64[1] four = {4}";
// torch.roll by -1 along both axes, from x to r.
constexpr std::string_view kRoll =
    "a = Slice(x, one, all, one) b = Slice(x, none, one, one) c = Concat<axis = 1>(a, b) "
    "d = Slice(c, one, all, across) e = Slice(c, none, one, across) r = Concat<axis = 2>(d, e) ";
constexpr std::string_view kWindows =
    "f = Reshape(r, cut) h = Transpose<perm = [0, 1, 3, 2, 4, 5]>(f) v = Reshape(h, rows) ";

class GatherRowsTest : public ::testing::Test {
 protected:
  static Graph Of(std::string_view nodes, std::string_view inputs = "",
                  std::string_view outputs = "y") {
    return GraphFromText(
        absl::StrCat("g (float16[1,4,4,8] x, float16[8,8] w, float16[8] s, float16[8] t", inputs,
                     ") => (", outputs, ") <", kConstants, "> { ", nodes, " }"));
  }

  static std::string Ops(const Graph& graph) {
    std::string ops;
    for (const Node* node : graph.TopologicalOrder()) absl::StrAppend(&ops, node->op(), " ");
    return ops;
  }
  static void ExpectOps(const Graph& graph, std::string_view ops) {
    const RewrittenFor result = RewriteFor("h200", GatherRows(), graph);
    ASSERT_TRUE(result.changed);
    EXPECT_EQ(Ops(result.graph), ops);
    ExpectSameHalves(graph, result.graph);
  }
  static void ExpectStays(const Graph& graph, std::string_view reason = "",
                          std::string_view on = "h200") {
    ExpectNoRewriteFor(on, GatherRows(), graph, reason);
  }
};

// The windows of a rolled image are rows that one Gather picks.
TEST_F(GatherRowsTest, RolledWindows) {
  ExpectOps(Of(absl::StrCat(kRoll, kWindows, "y = MatMul(v, w)")), "Reshape Gather MatMul ");
}

// Counted by hand: image row 1 begins at pixel 4; the last column and row come from the first.
TEST_F(GatherRowsTest, NumbersOfTheRows) {
  Graph graph = Of(absl::StrCat(kRoll, kWindows, "y = MatMul(v, w)"));
  const Value& y = graph.outputs()[0].value->producer()->input(0);
  const std::optional<RowMoves> moves = RowMovesBefore(graph.Mutable(y));
  ASSERT_TRUE(moves.has_value());
  EXPECT_EQ(moves->source->name(), "x");
  const absl::StatusOr<HostTensor> numbers = RowNumbers(*moves);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_EQ(numbers->dims(), (Dims{4, 4, 1}));
  const auto found = numbers->data<int32_t>();
  EXPECT_EQ(std::vector<int32_t>(found.begin(), found.end()),
            (std::vector<int32_t>{5, 6, 9, 10, 7, 4, 11, 8, 13, 14, 1, 2, 15, 12, 3, 0}));
}

// The norm normalizes the rows in their new order.
TEST_F(GatherRowsTest, ANormBeforeMovesBehind) {
  const Graph graph =
      Of(absl::StrCat("r = LayerNormalization(x, s, t) ", kWindows, "y = MatMul(v, w)"));
  ExpectOps(graph, "Reshape Gather LayerNormalization MatMul ");
}

TEST_F(GatherRowsTest, ANormWithOtherReadersStays) {
  const Graph graph = Of(
      absl::StrCat("r = LayerNormalization(x, s, t) ", kWindows, "y = MatMul(v, w)"), "", "y, r");
  ExpectStays(graph, "one Gather is predicted to take as long as what moves the rows");
}

// A single move is a Gather too if a norm reads it, here behind the sum of a residual.
TEST_F(GatherRowsTest, ANormBehindReadsTheRows) {
  const Graph graph =
      Of("f = Reshape(m, cut) h = Transpose<perm = [0, 1, 3, 2, 4, 5]>(f) "
         "r = Reshape(h, image) a = Add(x, r) y = LayerNormalization(a, s, t)",
         ", float16[4,4,8] m", "y, a");
  ExpectOps(graph, "Reshape Gather Add LayerNormalization ");
}

// The rows of four pixels become one.
TEST_F(GatherRowsTest, MergedPatches) {
  const Graph graph =
      Of("a = Slice(x, none, all, one, two) b = Slice(x, one, all, one, two) "
         "c = Slice(a, none, all, across, two) d = Slice(b, none, all, across, two) "
         "e = Slice(a, one, all, across, two) f = Slice(b, one, all, across, two) "
         "g = Concat<axis = -1>(c, d, e, f) y = MatMul(g, u)",
         ", float16[32,8] u");
  ExpectOps(graph, "Reshape Gather Reshape MatMul ");
}

TEST_F(GatherRowsTest, OneMoveOfAProductsOperandStays) {
  ExpectStays(Of("f = Reshape(x, cut) h = Transpose<perm = [0, 1, 3, 2, 4, 5]>(f) "
                 "v = Reshape(h, rows) y = MatMul(v, w)"),
              "one Gather is predicted to take as long as what moves the rows");
}

TEST_F(GatherRowsTest, OtherMovesStay) {
  // Rows of two Values.
  ExpectStays(Of("c = Concat<axis = 1>(x, z) y = MatMul(c, w)", ", float16[1,4,4,8] z"));
  // Parts of rows.
  ExpectStays(
      Of("c = Slice(x, none, four, last) d = Slice(x, four, all, last) "
         "e = Concat<axis = 3>(d, c) y = MatMul(e, w)"));
  // Columns become rows.
  ExpectStays(Of("c = Transpose<perm = [0, 1, 3, 2]>(x) y = MatMul(c, u)", ", float16[4,8] u"));
  // Nothing is moved.
  ExpectStays(Of("c = Reshape(x, rows) y = MatMul(c, w)"));
  // Something else reads what is between.
  ExpectStays(Of(absl::StrCat(kRoll, kWindows, "y = MatMul(v, w)"), "", "y, c"));
  ExpectStays(Of(absl::StrCat(kRoll, kWindows, "y = MatMul(v, w)")), "", "cpu");
}

}  // namespace
}  // namespace onnx_cudnn
