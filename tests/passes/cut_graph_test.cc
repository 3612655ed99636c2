#include "passes/cut_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/substitute.h"
#include "runtime/graph/types.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

using Strings = std::vector<std::string>;

Strings OpsOf(const Graph& graph) {
  Strings ops;
  for (const Node* node : graph.TopologicalOrder()) ops.push_back(node->op());
  std::sort(ops.begin(), ops.end());
  return ops;
}

// The ops of the segment, of the Nodes between Programs, and of the rest, sorted.
struct CutOps {
  Strings segment, nodes, rest;
};

CutOps Cut(std::string_view text, const BuildOptions& options = {}) {
  const Graph graph = GraphFromText(text);
  std::vector<Type> types;
  for (const Value* input : graph.inputs()) types.push_back(input->type());
  const absl::StatusOr<GraphCut> cut = CutGraph(graph, types, options);
  EXPECT_TRUE(cut.ok()) << cut.status();
  if (!cut.ok()) return {};
  CutOps ops{.segment = OpsOf(cut->segment.graph), .rest = OpsOf(cut->rest.graph)};
  for (const GraphCut::Part& part : cut->nodes) ops.nodes.push_back(OpsOf(part.graph)[0]);
  std::sort(ops.nodes.begin(), ops.nodes.end());
  return ops;
}

TEST(CutGraphTest, ASegmentEndsWithBoundedOps) {
  const CutOps ops = Cut(R"(
      g (float[2,3] x) => (float[M] y, int64[2,N] all) {
        z = Relu(x)
        at = NonZero(z)
        rows = Transpose<perm = [1, 0]>(at)
        y = GatherND(z, rows)
        all = NonZero(x) })");
  EXPECT_EQ(ops.segment, (Strings{"BoundedNonZero", "BoundedNonZero", "Relu"}));
  EXPECT_EQ(ops.nodes, (Strings{"FirstElements", "FirstElements"}));
  EXPECT_EQ(ops.rest, (Strings{"GatherND", "Transpose"}));
}

// The inverse indices have as many elements as the input; of the others, those that are used wait.
TEST(CutGraphTest, WhatIsUniqueEndsASegmentButItsInverseDoesNot) {
  const CutOps ops = Cut(R"(
      g (float[6] x, float[9] table) => (float[6] y, int64[N] counts) {
        u, at, inverse, counts = Unique(x)
        z = Gather(table, inverse)
        y = Add(x, z) })");
  EXPECT_EQ(ops.segment, (Strings{"Add", "BoundedUnique", "Gather"}));
  EXPECT_EQ(ops.nodes, Strings{"FirstElements"});
  EXPECT_EQ(ops.rest, Strings{});
}

TEST(CutGraphTest, WhatHasNoBoundYetWaitsForIt) {
  const CutOps ops = Cut(R"(
      g (float[6] x, bool[6] c) => (int64[1,N] at, float[M] u) {
        kept = Compress(x, c)
        at = NonZero(kept)
        u = Unique(x) })");
  EXPECT_EQ(ops.segment, (Strings{"BoundedCompress", "BoundedUnique"}));
  EXPECT_EQ(ops.nodes, (Strings{"FirstElements", "FirstElements"}));
  EXPECT_EQ(ops.rest, Strings{"NonZero"});
}

TEST(CutGraphTest, WhatHasNoBoundRunsBetweenPrograms) {
  const CutOps ops = Cut(R"(
      g (float x, float[1,3,4] boxes, float[1,1,3] scores, int64 most) => (int64[0,N] at, int64[M,3] picked) {
        y = Relu(x)
        at = NonZero(y)
        picked = NonMaxSuppression(boxes, scores, most) })");
  EXPECT_EQ(ops.segment, Strings{"Relu"});
  EXPECT_EQ(ops.nodes, (Strings{"NonMaxSuppression", "NonZero"}));
  EXPECT_EQ(ops.rest, Strings{});
}

// `size` is the extent of the matrices that both branches multiply.
std::string Choice(int size) {
  return absl::Substitute(R"(
      g (float[$0,$0] x) => (float[$0,$0] y) <float zero = {0}> {
        s = ReduceSum<keepdims = 0>(x)
        c = Greater(s, zero)
        z = If(c) <then_branch = a () => (p) { p = MatMul(x, x) },
                   else_branch = b () => (q) { m = Neg(x) q = MatMul(m, x) }>
        y = Relu(z) })",
                          size);
}

TEST(CutGraphTest, BranchesThatAGpuRunsFasterRunBetweenPrograms) {
  const OwnedTarget h200 = *MakeTarget("h200"), cpu = *MakeTarget("cpu");
  const CutOps ops = Cut(Choice(128), {.body_target = &h200.target});
  EXPECT_EQ(ops.segment, (Strings{"Greater", "ReduceSum"}));
  EXPECT_EQ(ops.nodes, Strings{"If"});
  EXPECT_EQ(ops.rest, Strings{"Relu"});
  EXPECT_EQ(Cut(Choice(1), {.body_target = &h200.target}).nodes, Strings{});
  EXPECT_EQ(Cut(Choice(128), {.body_target = &cpu.target}).nodes, Strings{});
  EXPECT_EQ(Cut(Choice(128)).nodes, Strings{});
}

TEST(CutGraphTest, SmallBranchesStayInTheSegment) {
  const OwnedTarget h200 = *MakeTarget("h200");
  for (const int size : {4, 16}) {
    EXPECT_EQ(Cut(Choice(size), {.body_target = &h200.target}).nodes, Strings{}) << size;
  }
}

// As Programs the bodies would take as long, and the waits for them.
TEST(CutGraphTest, BranchesOfWhatTheHostRunsStayInTheSegment) {
  const OwnedTarget h200 = *MakeTarget("h200");
  const CutOps ops = Cut(R"(
      g (float[64] x) => (float[64] y) <float zero = {0}> {
        s = ReduceSum<keepdims = 0>(x)
        c = Greater(s, zero)
        y = If(c) <then_branch = a () => (p) { d = Bernoulli(x) p = Neg(d) },
                   else_branch = b () => (q) { q = Bernoulli(x) }> })",
                         {.body_target = &h200.target});
  EXPECT_EQ(ops.nodes, Strings{});
}

TEST(CutGraphTest, AScanWithoutIterationsStaysInTheSegment) {
  const OwnedTarget h200 = *MakeTarget("h200");
  const CutOps ops = Cut(R"(
      g (float[128,128] x, float[0,128,128] xs) => (float[128,128] last) {
        last = Scan(x, xs) <num_scan_inputs = 1,
          body = b (float[128,128] s, float[128,128] e) => (float[128,128] t) {
            t = MatMul(s, e) }> })",
                         {.body_target = &h200.target});
  EXPECT_EQ(ops.segment, Strings{"Scan"});
  EXPECT_EQ(ops.nodes, Strings{});
}

TEST(CutGraphTest, ConstantsAreFolded) {
  const CutOps ops = Cut(R"(
      g (float[2] x) => (float[N] y) <float[3] w = {0, 1, 2}, int64[1] first = {0}> {
        at = NonZero(w)
        row = Squeeze(at, first)
        z = Reshape(x, row)
        y = Neg(z) })");
  EXPECT_EQ(ops.nodes, Strings{});
  EXPECT_EQ(ops.segment, (Strings{"Neg", "Reshape"}));
}

}  // namespace
}  // namespace onnx_cudnn
