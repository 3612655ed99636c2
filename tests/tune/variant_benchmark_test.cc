// Variants with correct elements and wrong other lanes.
#include "runtime/tune/variant_benchmark.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "runtime/exec/cpu_device.h"
#include "tests/tune/changed_relu.h"

namespace onnx_cudnn {
namespace {

// An Engine with one Variant, the given Step.
class OneStep final : public Engine {
 public:
  explicit OneStep(std::shared_ptr<const Step> step) : step_(std::move(step)) {}
  std::string_view name() const override { return "one"; }
  void Propose(const Graph&, const Node&, const Target&, CandidateSink&) const override {}
  Support Check(const Graph&, const Candidate&, const Target&) const override {
    return Support::Yes();
  }
  absl::StatusOr<Compiled> Compile(const Candidate&, const Variant&, const Target&) const override {
    return Compiled::As(step_);
  }

 private:
  const std::shared_ptr<const Step> step_;
};

// Notes on a Relu of f32[1,3,2,2] with each pixel in 4 lanes, whose Step writes all 16 lanes.
std::string NotesOf(const Format& written, const Change& change) {
  const Dims dims = {1, 3, 2, 2};
  const Type type = Type::Tensor(DType::kF32, dims);
  Graph graph;
  Node& node = graph.AddNode({.op = "Relu", .inputs = {&graph.AddInput("x", type)}});
  graph.SetType(node.output(0), type);
  graph.AddOutput("y", node.output(0));
  const OneStep engine(std::make_shared<ChangedRelu>(16, change));
  const Candidate candidate{.nodes = {&node},
                            .engine = &engine,
                            .inputs = {{Format::ChannelsLast(dims, 4)}},
                            .outputs = {{written}}};
  const Target target{.engines = {&engine}};
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ConstantStore constants(*device);
  const TuneObserver nobody;
  const Trials trials(candidate, target, "relu", {}, nobody);
  VariantBenchmark benchmark(trials, *device, constants);
  EXPECT_TRUE(benchmark.List().ok());
  EXPECT_TRUE(benchmark.Compile(0).ok());
  EXPECT_TRUE(benchmark.Time().ok());
  EXPECT_TRUE(benchmark.Decide().ok());
  EXPECT_EQ(benchmark.choice().compiled.step() != nullptr, benchmark.notes().empty());
  return absl::StrJoin(benchmark.notes(), "\n");
}

TEST(VariantBenchmarkTest, PaddingIsZero) {
  const Format padded = Format::ChannelsLast({1, 3, 2, 2}, 4);
  EXPECT_EQ(NotesOf(padded, [](float*) {}), "");
  EXPECT_EQ(NotesOf(padded, [](float* y) { y[7] = 1; }),
            "one node (Relu) : padding lanes are not zero");
}

TEST(VariantBenchmarkTest, LanesOfOtherTensorsAreNotWritten) {
  const Format part = Format::Of({{2, 1, 2, 2}, {3, 1, 2, 2}, {1, 1, 3, 4}});
  EXPECT_EQ(NotesOf(part, [](float*) {}), "one node (Relu) : lanes of others were written");
}

}  // namespace
}  // namespace onnx_cudnn
