#include "runtime/exec/custom_engine.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/exec/cpu_device.h"
#include "runtime/exec/step_runner.h"
#include "runtime/graph/custom_op.h"
#include "runtime/plan/known_devices.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

constexpr char kDomain[] = "com.example.engine";

int32_t InferLikeInput(void*, onnx_cudnn_op_call* call, const onnx_cudnn_op_tensors* tensors) {
  for (size_t i = 0; i < tensors->output_count; ++i) {
    CustomOpHost().set_output_like_input(call, i, 0);
  }
  return 0;
}

int32_t NeverRuns(void*, onnx_cudnn_op_call* call, const onnx_cudnn_op_tensors*) {
  return CustomOpHost().fail(call, "the host's function ran");
}

// y = x + w, where the operands are what they are to be.
int32_t LaunchAdd(void*, onnx_cudnn_op_call* call, const onnx_cudnn_op_tensors* tensors, void*) {
  const bool shaped = tensors->input_count == 3 && tensors->inputs[1] == nullptr &&
                      tensors->output_count == 2 && tensors->outputs[1] == nullptr;
  if (!shaped) return CustomOpHost().fail(call, "other operands");
  const DLTensor &x = *tensors->inputs[0], &w = *tensors->inputs[2], &y = *tensors->outputs[0];
  if (x.device.device_type != kDLCUDA || x.device.device_id != 3 || y.ndim != 2) {
    return CustomOpHost().fail(call, "other memory");
  }
  for (int i = 0; i < 4; ++i) {
    static_cast<float*>(y.data)[i] =
        static_cast<const float*>(x.data)[i] + static_cast<const float*>(w.data)[i];
  }
  return 0;
}

int32_t PriceIt(void*, onnx_cudnn_op_call*, const onnx_cudnn_op_tensors* tensors,
                onnx_cudnn_op_price* price) {
  price->us = static_cast<double>(tensors->inputs[0]->shape[0]) * 7;
  price->flops = 12;
  return 0;
}

CustomOp OpOf(const char* name) {
  return {.domain = kDomain,
          .name = name,
          .library = "this test",
          .functions = {.struct_size = sizeof(onnx_cudnn_op),
                        .api_version = ONNX_CUDNN_OP_API_VERSION,
                        .since_version = 1,
                        .infer = InferLikeInput,
                        .run = NeverRuns}};
}

class CustomEngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    CustomOp add = OpOf("AddOnGpu"), host = OpOf("OnHost"), priced = OpOf("Priced");
    add.functions.launch = LaunchAdd;
    priced.functions.launch = LaunchAdd;
    priced.functions.price = PriceIt;
    ASSERT_TRUE(RegisterCustomOps({add, host, priced}).ok());
  }

  static Graph GraphOf(std::string_view op) {
    return GraphFromText(absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 21, ")", kDomain,
                                      R"(" : 1]>
      g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {10, 20, 30, 40}> {
        y, unread = )",
                                      kDomain, ".", op, "(x, , w) }"));
  }

  const OwnedTarget target_ = *MakeTarget("h200");
};

TEST_F(CustomEngineTest, OffersOpsThatCanBeLaunched) {
  const auto engine = MakeCustomEngine();
  const Graph graph = GraphOf("AddOnGpu");
  const Proposed proposed = ProposedBy(*engine, graph, FindNode(graph, "AddOnGpu"), target_.target);
  ASSERT_EQ(proposed.candidates.size(), 1u);
  const Candidate& candidate = proposed.candidates[0];
  EXPECT_TRUE(static_cast<bool>(engine->Check(graph, candidate, target_.target)));
  EXPECT_EQ(candidate.inputs[0].space, Space::kDevice);
  Candidate on_host = candidate;
  on_host.inputs[0].space = Space::kHost;
  EXPECT_EQ(engine->Check(graph, on_host, target_.target).reason(),
            "x is not row-major on the device");
}

TEST_F(CustomEngineTest, LeavesOthersToTheHost) {
  const auto engine = MakeCustomEngine();
  const Graph graph = GraphOf("OnHost");
  const Proposed proposed = ProposedBy(*engine, graph, FindNode(graph, "OnHost"), target_.target);
  EXPECT_TRUE(proposed.candidates.empty());
  EXPECT_EQ(proposed.reasons, std::vector<std::string>{"its library cannot launch it on a GPU"});

  const Graph relu = GraphFromText("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  const Proposed none = ProposedBy(*engine, relu, FindNode(relu, "Relu"), target_.target);
  EXPECT_TRUE(none.candidates.empty());
  EXPECT_TRUE(none.reasons.empty());
}

TEST_F(CustomEngineTest, ThePriceIsTheLibrarys) {
  const auto engine = MakeCustomEngine();
  const Graph graph = GraphOf("Priced");
  const Proposed proposed = ProposedBy(*engine, graph, FindNode(graph, "Priced"), target_.target);
  ASSERT_EQ(proposed.candidates.size(), 1u);
  EXPECT_EQ(proposed.candidates[0].cost.us, 14);
  EXPECT_EQ(proposed.candidates[0].cost.flops, 12);
  const Graph other = GraphOf("AddOnGpu");
  EXPECT_GE(
      ProposedBy(*engine, other, FindNode(other, "AddOnGpu"), target_.target).candidates[0].cost.us,
      target_.target.info.launch_us);
}

TEST_F(CustomEngineTest, StepsLaunchOnTheGivenGpu) {
  const auto engine = MakeCustomEngine(/*device_ordinal=*/3);
  const Graph graph = GraphOf("AddOnGpu");
  const Proposed proposed = ProposedBy(*engine, graph, FindNode(graph, "AddOnGpu"), target_.target);
  const absl::StatusOr<Compiled> compiled =
      engine->Compile(proposed.candidates.at(0), {}, target_.target);
  ASSERT_TRUE(compiled.ok() && compiled->step() != nullptr);
  const std::unique_ptr<Device> device = MakeCpuDevice();  // memory that the test can read
  ConstantStore constants(*device);
  auto runner = StepRunner::Create(proposed.candidates[0], compiled->step(), *device, constants);
  ASSERT_TRUE(runner.ok()) << runner.status();
  const HostTensor x = HostTensor::Of<float>(DType::kF32, {2, 2}, {1, 2, 3, 4});
  const absl::StatusOr<StepResult> result = (*runner)->Run({x}, StepRunner::Padding::kZero);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(SameContent(result->outputs[0],
                          HostTensor::Of<float>(DType::kF32, {2, 2}, {11, 22, 33, 44})));
}

TEST_F(CustomEngineTest, TheCpuDeviceRunsTheHostsFunction) {
  const auto engine = MakeCustomEngine();
  const Graph graph = GraphOf("AddOnGpu");
  const Proposed proposed = ProposedBy(*engine, graph, FindNode(graph, "AddOnGpu"), target_.target);
  const absl::StatusOr<Compiled> compiled =
      engine->Compile(proposed.candidates.at(0), {}, target_.target);
  ASSERT_TRUE(compiled.ok() && compiled->step() != nullptr);
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ConstantStore constants(*device);
  auto runner = StepRunner::Create(proposed.candidates[0], compiled->step(), *device, constants);
  ASSERT_TRUE(runner.ok()) << runner.status();
  const HostTensor x = HostTensor::Of<float>(DType::kF32, {2, 2}, {1, 2, 3, 4});
  const absl::Status status = (*runner)->Run({x}, StepRunner::Padding::kZero).status();
  EXPECT_NE(status.message().find("AddOnGpu: the host's function ran"), std::string::npos)
      << status;
}

}  // namespace
}  // namespace onnx_cudnn
