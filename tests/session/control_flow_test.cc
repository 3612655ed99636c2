#include "runtime/session/segments/control_flow.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/session/on_devices.h"

namespace onnx_cudnn {
namespace {

// Ends a Loop of one state after the first iteration, and keeps its inputs.
class FirstIteration final : public SubModelRunner {
 public:
  absl::StatusOr<std::vector<ModelValue>> Run(const SubModel&,
                                              std::vector<ModelValue> given) override {
    inputs = std::move(given);
    return std::vector<ModelValue>{TensorOf<bool>({}, {false}), inputs[2]};
  }

  std::vector<ModelValue> inputs;
};

// Of the outer values in the first iteration of the Loop that `text` is, by name, whether they are
// on the device.
std::map<std::string, bool> CapturesOnDevice(std::string_view text) {
  const Graph graph = GraphFromText(text);
  std::vector<Type> types;
  for (const Value* input : graph.inputs()) types.push_back(input->type());
  const GraphCut cut = CutGraph(graph, types, {}).value();
  const Node& loop = *cut.nodes.at(0).graph.TopologicalOrder().front();
  const Graph& body = *loop.bodies().begin()->second;
  SegmentPlan::Node planned;
  planned.bodies["body"] = SubModel::Create(body.Clone(), OutputReader::kPrograms).value();
  NodeOperands operands{.node = loop, .values = {}};
  for (const Value* v : loop.inputs()) {
    auto& operand = operands.values.emplace_back();
    if (v == nullptr) continue;
    operand = v->is_constant() ? TensorMaker::Of(v->constant())
                               : Tensor::Allocate(v->dtype(), v->dims()).value();
  }
  const auto device = SessionDevice::Create(SessionMaker::Open().value(), {}).value();
  FirstIteration runner;
  const NodeResults results = RunControlFlow(planned, operands, ValueMemory(*device), runner);
  EXPECT_TRUE(results.ok()) << results.status();
  std::map<std::string, bool> on_device;
  for (size_t i = loop.inputs().size() - loop.captures(); i < loop.inputs().size(); ++i) {
    // The body's inputs are at the same positions: the iteration, the condition, the states.
    const Value& v = *loop.inputs()[i];
    on_device[v.is_constant() ? "constants" : v.name()] |=
        runner.inputs[i].tensor().device() != DeviceRef{};
  }
  return on_device;
}

TEST(ControlFlowTest, OnlyWhatProgramsReadInALoopIsCopiedToTheDevice) {
  const std::vector<float> twos(2000, 2);
  auto on_device = CapturesOnDevice(absl::StrCat(R"(
      g (float[2000] x, float[2000] added, float[2000] counted) => (float[2000] y)
      <bool yes = {1}, int64 most = {9}, float[2000] twos = {)",
                                                 absl::StrJoin(twos, ", "), R"(}> {
        y = Loop(, yes, x) <body = b (int64 i, bool go, float[2000] s)
          => (bool on, float[2000] t) {
            a = Add(s, added)
            t = Mul(a, twos)
            texts = Cast<to = 8>(counted)
            kinds = Unique(texts)
            count = Size(kinds)
            on = Less(count, most) }> })"));
  EXPECT_TRUE(on_device.at("added"));
  EXPECT_FALSE(on_device.at("counted"));
  EXPECT_FALSE(on_device["constants"]);  // the body's Program has its own copy
}

}  // namespace
}  // namespace onnx_cudnn
