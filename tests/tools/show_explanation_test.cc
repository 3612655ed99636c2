// What --explain with --output says of each node in the written model.
#include "tools/common/show_explanation.h"

#include <gtest/gtest.h>

#include "onnx/onnx_pb.h"
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

Explanation OnePartition(std::vector<std::string> nodes) {
  PartitionReport p{.engine = "cudnn", .variant = "plan 3", .nodes = std::move(nodes)};
  p.inputs = {{"x", "f32[2]", "NCHW"}, {"c", "f32[2]", "row-major"}};
  p.outputs = {{"y", "f32[2]", "NHWC"}};
  p.cost.us = 1.5;
  Explanation explanation;
  explanation.partitions = {{.engine = "view"}, std::move(p)};
  return explanation;
}

TEST(MetadataOfTest, NamesPartitionEngineAndFormats) {
  const Graph graph =
      GraphFromText("g (float[2] x) => (float[2] y) { [\"n\"] t = Relu(x) y = Neg(t) }");
  const Explanation explanation = OnePartition({"n", "y", "made by a pass"});
  const NodeMetadata metadata = MetadataOf(graph, {&explanation});
  const NodeMetadata::mapped_type texts = {{"onnx_cudnn.partition", "1"},
                                           {"onnx_cudnn.engine", "cudnn, plan 3"},
                                           {"onnx_cudnn.predicted_us", "1.50"},
                                           {"onnx_cudnn.reads", "x NCHW, c row-major"},
                                           {"onnx_cudnn.writes", "y NHWC"}};
  const std::vector<Node*> nodes = graph.TopologicalOrder();
  EXPECT_EQ(metadata, (NodeMetadata{{nodes[0], texts}, {nodes[1], texts}}));
}

TEST(MetadataOfTest, SaysNothingOfNodesOfOneName) {
  const Graph graph = GraphFromText(
      "g (float[2] x) => (float[2] y) { [\"n\"] t = Relu(x) [\"n\"] u = Neg(t) y = Abs(u) }");
  const Explanation first = OnePartition({"n"}), second = OnePartition({"y"});
  const NodeMetadata metadata = MetadataOf(graph, {&first, &second});
  ASSERT_EQ(metadata.size(), 1u);
  EXPECT_EQ(metadata.begin()->first->op(), "Abs");
  EXPECT_EQ(metadata.begin()->second[0].second, "program 1: 1");
}

class ShowExplanationTest : public ProgramsTest {
 protected:
  // The metadata of the only node of a model that onnx-cudnn-opt writes.
  std::map<std::string, std::string> Written(std::string_view flags) {
    const Ended ended =
        Run(ONNX_CUDNN_OPT, absl::StrCat("shift.onnx --target h200 -o out.onnx ", flags));
    EXPECT_EQ(ended.code, 0) << ended.err;
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(*ReadFile(Path("out.onnx"), 1 << 20)));
    std::map<std::string, std::string> found;
    for (const auto& entry : model.graph().node(0).metadata_props()) {
      found[entry.key()] = entry.value();
    }
    return found;
  }
};

TEST_F(ShowExplanationTest, IsInTheModelThatIsWritten) {
  const auto explained = Written("--explain");
  EXPECT_EQ(explained.at("onnx_cudnn.partition"), "0");
  EXPECT_EQ(explained.at("onnx_cudnn.engine").substr(0, 6), "kernel");
  EXPECT_EQ(explained.at("onnx_cudnn.writes"), "y/0 row-major");
  EXPECT_TRUE(Written("").empty());
}

}  // namespace
}  // namespace onnx_cudnn
