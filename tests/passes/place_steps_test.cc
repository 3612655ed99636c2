#include "passes/place_steps.h"

#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

// A Step that may write its output into its input.
class InPlaceStep final : public Step {
 public:
  absl::Span<const Alias> aliases() const override { return {&kAlias, 1}; }
  absl::Status Launch(const LaunchArgs&) const override { return absl::OkStatus(); }
  std::string Save() const override { return ""; }

 private:
  static constexpr Alias kAlias = {.output = 0, .input = 0, .offset = 0, .required = false};
};

// x → a → b → y, all but `b` of 4 floats: does the Step that writes `b` reuse the memory of `a`?
bool TakesTheInput(int64_t floats_of_b) {
  Graph graph;
  Value* value = &graph.AddInput("x", Type::Tensor(DType::kF32, {4}));
  std::vector<Partition> partitions;
  for (const int64_t floats : {int64_t{4}, floats_of_b, int64_t{4}}) {
    const Placement in = {Format::RowMajor(value->dims())};
    Node& node = graph.AddNode({.op = "Some", .inputs = {value}});
    value = &node.output(0);
    graph.SetType(*value, Type::Tensor(DType::kF32, {floats}));
    const Placement out = {Format::RowMajor({floats})};
    partitions.push_back({.chosen = {.nodes = {&node}, .inputs = {in}, .outputs = {out}},
                          .step = std::make_shared<InPlaceStep>()});
  }
  graph.AddOutput("y", *value);
  const std::vector<std::vector<int>> predecessors = {{}, {0}, {1}};
  const auto placed = PlaceSteps(graph, partitions, predecessors, /*streams=*/1, 256);
  EXPECT_TRUE(placed.ok()) << placed.status();
  return placed.ok() && placed->steps[1].out[0].offset == placed->steps[1].in[0].offset;
}

TEST(PlaceStepsTest, AResultTakesAnInputThatIsLargeEnough) {
  EXPECT_TRUE(TakesTheInput(3));
  EXPECT_TRUE(TakesTheInput(4));
  EXPECT_FALSE(TakesTheInput(5));
  EXPECT_FALSE(TakesTheInput(8));
}

}  // namespace
}  // namespace onnx_cudnn
