// Epilogues of element-wise Nodes, run on the host as epilogue_program.cuh runs them.
#include "runtime/kernels/cuda/pointwise/epilogue_builder.h"

#include <cmath>
#include <map>

#include "gtest/gtest.h"
#include "runtime/ops/pointwise_kernels.h"
#include "tests/kernels/kernels_fixture.h"

namespace onnx_cudnn {
namespace {

float Apply(EpilogueCode code, float a, float b, float c) {
  if (code == EpilogueCode::kMove) return a;
  EXPECT_TRUE(IsPrimitive(code));
  float result;
  RunPrimitive<float>(PrimitiveOf(code), {&a, &b, &c}, &result, 1);
  return result;
}

// Images [2, 8, 3, 5] in f16, channels-last.
class EpilogueBuilderTest : public testing::Test {
 protected:
  EpilogueBuilderTest() : start_(&graph_.AddInput("start", Type::Tensor(DType::kF16, dims_))) {}

  Value& Input(const char* name, const Dims& dims) {
    return graph_.AddInput(name, Type::Tensor(DType::kF16, dims));
  }
  Value& Op(const std::string& op, std::vector<Value*> inputs, Attrs attrs = {}) {
    Value& y = Append(graph_, op, std::move(inputs), std::move(attrs));
    nodes_.push_back(y.producer());
    return y;
  }

  // Builds a program from register 0, which holds `start_`, or from no register.
  absl::Status Build(bool from_start, const Value* result) {
    unit_ = UnitOf(nodes_);
    for (const Value* v : unit_.boundary.inputs) {
      candidate_.inputs.push_back({Format::ChannelsLast(v->dims())});
    }
    for (const Value* v : unit_.boundary.outputs) {
      candidate_.outputs.push_back({Format::ChannelsLast(v->dims())});
    }
    const KernelRequest request{unit_, candidate_, target_, ""};
    Operands operands(request);
    EpilogueBuilder builder(unit_, operands);
    const absl::Status status =
        builder.Add(from_start ? start_ : nullptr, nodes_, result, dims_, false);
    program_ = builder.program();
    builder.Bind(call_, 0);
    return status;
  }

  // Runs the program for one element; `inputs` are the operands' values by Slot::Input, stored
  // values are returned by Slot::Output.
  float Run(float first, const std::map<int, float>& inputs) {
    float registers[kEpilogueRegisters] = {first};
    const auto read = [&](int from) {
      return from < kEpilogueRegisters ? registers[from]
                                       : program_.constants[from - kEpilogueRegisters];
    };
    for (int i = program_.segments[0].begin; i < program_.segments[0].end; ++i) {
      const EpilogueStep& step = program_.steps[i];
      if (step.code == EpilogueCode::kStore) {
        stored_[SlotOf(step.args[1], true).index] = read(step.args[0]);
      } else if (step.code == EpilogueCode::kLoad) {
        registers[step.to] = inputs.at(SlotOf(step.args[0], false).index);
      } else {
        const float b =
            step.args[1] < kEpilogueRegisters + kEpilogueConstants ? read(step.args[1]) : 0;
        registers[step.to] = Apply(step.code, read(step.args[0]), b, read(step.args[2]));
      }
    }
    return registers[0];
  }

  Slot SlotOf(int tensor, bool is_output) const {
    const size_t at =
        (is_output ? offsetof(EpilogueProgram, outputs) : offsetof(EpilogueProgram, operands)) +
        tensor * sizeof(EpilogueTensor) + offsetof(EpilogueTensor, data);
    for (const KernelCall::Address& address : call_.addresses) {
      if (address.at == at) return address.slot;
    }
    ADD_FAILURE() << "tensor " << tensor << " has no address";
    return Slot::Workspace();
  }

  const Dims dims_ = {2, 8, 3, 5};
  Graph graph_;
  Value* start_;
  std::vector<const Node*> nodes_;
  Unit unit_;
  Candidate candidate_;
  Target target_;
  KernelCall call_;
  EpilogueProgram program_;
  std::map<int, float> stored_;
};

TEST_F(EpilogueBuilderTest, ResidualAndReluWithAnOutputInBetween) {
  Value& sum = Op("Add", {start_, &Input("residual", dims_)});
  Value& y = Op("Relu", {&sum});
  graph_.AddOutput("sum", sum);
  graph_.AddOutput("y", y);
  ASSERT_TRUE(Build(true, nullptr).ok());
  // Inputs of the Unit: start, residual.
  Run(1.5F, {{1, -4}});
  EXPECT_EQ(stored_, (std::map<int, float>{{0, -2.5F}, {1, 0.0F}}));
  EXPECT_TRUE(program_.operands[0].aligned);
  EXPECT_EQ(program_.operands[0].image, 3 * 5 * 8);
  EXPECT_EQ(program_.operands[0].row, 5 * 8);
  EXPECT_EQ(program_.operands[0].column, 8);
  EXPECT_EQ(program_.operands[0].channel, 1);
}

TEST_F(EpilogueBuilderTest, KeepsValuesThatAreNeededAgain) {
  Value& scale = Input("scale", {1, 8, 1, 1});
  Value& a = Op("Mish", {start_});
  Value& b = Op("Mul", {&a, &scale});
  Value& c = Op("HardSwish", {&b});
  Value& d = Op("Add", {&c, &a});
  Value& e = Op("LeakyRelu", {&d}, {{"alpha", 0.5F}});
  graph_.AddOutput("y", Op("Add", {&e, start_}));
  ASSERT_TRUE(Build(true, nullptr).ok());
  for (const float x : {-2.0F, 0.25F, 3.0F}) {
    Run(x, {{1, -1.5F}});
    const float mish = x * std::tanh(std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x))));
    const float scaled = mish * -1.5F;
    const float sum = scaled * std::max(std::min(scaled / 6 + 0.5F, 1.0F), 0.0F) + mish;
    EXPECT_NEAR(stored_.at(0), (sum < 0 ? 0.5F * sum : sum) + x, 1e-6F);
  }
  EXPECT_EQ(program_.operands[0].image, 0);
  EXPECT_EQ(program_.operands[0].column, 0);
  EXPECT_TRUE(program_.operands[0].aligned);
}

TEST_F(EpilogueBuilderTest, LeavesAResultInTheFirstRegister) {
  Value& shift = Input("shift", {8, 1, 1});
  Value& a = Op("Mul", {start_, start_});
  Value& b = Op("Add", {&a, &shift});
  graph_.AddOutput("y", Op("Relu", {&b}));
  const Value& result = *nodes_.back()->outputs()[0];
  ASSERT_TRUE(Build(false, &result).ok());
  EXPECT_EQ(Run(0, {{0, 3}, {1, -20}}), 0);
  EXPECT_EQ(Run(0, {{0, -5}, {1, -20}}), 5);
}

TEST_F(EpilogueBuilderTest, RefusesWhatItDoesNotHold) {
  graph_.AddOutput("y", Op("Sin", {start_}));
  const absl::Status status = Build(true, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "Sin inside of another kernel");
}

}  // namespace
}  // namespace onnx_cudnn
