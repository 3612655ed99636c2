// The rows of ops whose output shapes depend on data, as outputs of a size known beforehand.
#include "runtime/ops/bounded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/infer.h"
#include "runtime/ops/evaluate.h"
#include "tests/ops/bounded_node.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

// The case as a Node over constants.
Graph GraphOf(const OpCase& c) {
  Graph graph;
  NodeSpec spec{.op = c.op, .attrs = c.attrs};
  spec.outputs.resize(std::max<size_t>(1, c.expected.size()), "*");
  for (const HostTensor& t : c.inputs) {
    spec.inputs.push_back(t.defined() ? &graph.AddConstant(t) : nullptr);
  }
  graph.AddNode(std::move(spec));
  return graph;
}

// The elements, their count, and the output of FirstElements for them.
void ExpectElements(const HostTensor& elements, const HostTensor& count, const HostTensor& expected,
                    const std::vector<int64_t>& dims) {
  const int64_t used = expected.bytes();
  ASSERT_LE(used, elements.bytes());
  if (used > 0) {
    EXPECT_EQ(std::memcmp(elements.raw(), expected.raw(), used), 0);
  }
  const auto* bytes = static_cast<const char*>(elements.raw());
  for (int64_t i = used; i < elements.bytes(); ++i) ASSERT_EQ(bytes[i], 0) << "byte " << i;

  Graph graph;
  Node& first = graph.AddNode({.op = "FirstElements",
                               .inputs = {&graph.AddConstant(elements), &graph.AddConstant(count)},
                               .attrs = {{"dims", dims}},
                               .domain = std::string(kOwnDomain),
                               .opset = 1});
  graph.SetType(first.output(0), Type::Tensor(expected.dtype(), expected.dims()));
  const auto output = EvaluateConstants(first);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_TRUE(SameContent(output->front(), expected));
}

TEST(BoundedTest, RowsGiveTheirOutputsAndZeros) {
  int row = 0, bounded = 0, refused = 0;
  for (const OpCase& c : DataDependentCases()) {
    SCOPED_TRACE(absl::StrCat("row ", row++, ", ", c.op));
    Graph graph = GraphOf(c);
    if (!InferShapes(graph).ok()) continue;
    const std::optional<BoundedForm> form = BoundedFormOf(*graph.TopologicalOrder()[0]);
    if (BoundOnlyNode(graph) == nullptr) continue;
    const auto outputs = Evaluate(graph, {});
    if (!c.error.empty()) {
      ++refused;
      ASSERT_FALSE(outputs.ok());
      EXPECT_NE(outputs.status().message().find(c.error), std::string::npos) << outputs.status();
      continue;
    }
    ++bounded;
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ExpectElements((*outputs)[0], (*outputs)[1], c.expected[0], form->dims);
    for (size_t i = 1; i < c.expected.size(); ++i) {  // of Unique
      const HostTensor &expected = c.expected[i], &found = (*outputs)[i + 1];
      if (!expected.defined()) continue;
      if (i == 2) {
        EXPECT_TRUE(SameContent(found, expected));
      } else {
        ExpectElements(found, (*outputs)[1], expected, {-1});
      }
    }
  }
  EXPECT_EQ(refused, 2);  // conditions that are true beyond the axis
  EXPECT_GE(bounded, 51);
}

std::optional<int64_t> BoundOf(const OpCase& c) {
  Graph graph = GraphOf(c);
  EXPECT_TRUE(InferShapes(graph).ok());
  const auto form = BoundedFormOf(*graph.TopologicalOrder()[0]);
  return form.has_value() ? std::optional(form->bound) : std::nullopt;
}

TEST(BoundedTest, TypesAndConstantsBound) {
  EXPECT_EQ(BoundOf({"NonZero", {F32({2, 3}, {0, 1, 2, 3, 4, 5})}}), 12);
  EXPECT_EQ(BoundOf({"Compress", {F32({2, 2}, {1, 2, 3, 4}), RowB({1})}}), 4);
  EXPECT_EQ(BoundOf({"Unique", {F32({2, 2}, {1, 2, 3, 4})}, {{"axis", int64_t{1}}}}), 4);
  const HostTensor boxes = F32({1, 3, 4}, std::vector<double>(12));
  const HostTensor scores = F32({1, 2, 3}, std::vector<double>(6));
  EXPECT_EQ(BoundOf({"NonMaxSuppression", {boxes, scores, I64({}, {2})}}), 2 * 2 * 3);
  EXPECT_EQ(BoundOf({"NonMaxSuppression", {boxes, scores, I64({}, {1e18})}}), 2 * 3 * 3);
}

TEST(BoundedTest, WithoutABoundThereIsNoForm) {
  EXPECT_EQ(BoundOf({"NonZero", {F32({}, {1})}}), std::nullopt);
  EXPECT_EQ(BoundOf({"NonZero", {HostTensor::Strings({1}, {"a"})}}), std::nullopt);
  const HostTensor boxes = F32({1, 3, 4}, std::vector<double>(12));
  EXPECT_EQ(BoundOf({"NonMaxSuppression", {boxes, F32({1, 1, 3}, {1, 2, 3})}}), std::nullopt);
  // 8 × 2^22 indices of 8 bytes each are the most.
  HostTensor most = HostTensor::Allocate(DType::kBool, {1, 1, 1, 1, 1, 1, 1, 1 << 22});
  EXPECT_EQ(BoundOf({"NonZero", {most}}), int64_t{8} << 22);
  most = HostTensor::Allocate(DType::kBool, {1, 1, 1, 1, 1, 1, 1, (1 << 22) + 1});
  EXPECT_EQ(BoundOf({"NonZero", {most}}), std::nullopt);
  // A byte per element, and an index of 8 bytes.
  EXPECT_EQ(BoundOf({"Unique", {most.Reshaped({(1 << 22) + 1})}}), (1 << 22) + 1);
  most = HostTensor::Allocate(DType::kBool, {(1 << 25) + 1});
  EXPECT_EQ(BoundOf({"Unique", {most}}), std::nullopt);
}

TEST(BoundedTest, UnusedOutputsHaveNoFirstElements) {
  Graph graph;
  Node& node = graph.AddNode(
      {.op = "Unique", .inputs = {&graph.AddConstant(Row({1, 2, 1}))}, .outputs = {"y", "", "i"}});
  ASSERT_TRUE(InferShapes(graph).ok());
  graph.AddOutput("i", node.output(2));
  const BoundedNodes nodes = ReplaceByBounded(graph, node, *BoundedFormOf(node));
  EXPECT_TRUE(nodes.firsts.empty());
  ASSERT_EQ(nodes.bounded->outputs().size(), 4u);
  EXPECT_FALSE(nodes.bounded->has_output(2));
  EXPECT_EQ(nodes.bounded->output(3).dims(), (Dims{3}));
  const auto outputs = Evaluate(graph, {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_TRUE(SameContent((*outputs)[0], RowI({0, 1, 0})));
}

TEST(BoundedTest, ACountBeyondTheElementsIsInvalid) {
  Graph graph;
  Node& first = graph.AddNode({.op = "FirstElements",
                               .inputs = {&graph.AddConstant(RowI({1, 2, 3, 4}))},
                               .attrs = {{"dims", std::vector<int64_t>{2, -1}}},
                               .domain = std::string(kOwnDomain)});
  EXPECT_EQ(DimsOfFirst(first, 2, 4).value(), (Dims{2, 2}));
  EXPECT_EQ(DimsOfFirst(first, 3, 4).status().message(), "count 3 gives [2,3] of 4 elements");
  EXPECT_FALSE(DimsOfFirst(first, -1, 4).ok());
}

}  // namespace
}  // namespace onnx_cudnn
