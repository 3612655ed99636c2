// Which element-wise programs run as chains, and with which steps.
#include "gtest/gtest.h"
#include "runtime/kernels/cuda/pointwise/pointwise_chain_form.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

using Code = PointwiseCode;
using Source = PointwiseSource;

class PointwiseChainTest : public testing::Test {
 protected:
  Value& Input(DType dtype, const Dims& dims = {4, 40}) {
    return graph_.AddInput("x" + std::to_string(++inputs_), Type::Tensor(dtype, dims));
  }
  Value& Number(DType dtype, double number) {
    return graph_.AddConstant(TensorOf(dtype, {}, {number}));
  }
  Value& Do(const std::string& op, std::vector<Value*> inputs, Attrs attrs = {}) {
    Value& y = Append(graph_, op, std::move(inputs), std::move(attrs));
    nodes_.push_back(y.producer());
    return y;
  }
  // The chain of all Nodes, after adding `y` to the graph's outputs.
  std::optional<PointwiseChain> ChainTo(Value& y) {
    graph_.AddOutput("y", y);
    const absl::StatusOr<PointwiseProgram> program = CompileProgram(UnitOf(nodes_));
    EXPECT_TRUE(program.ok()) << program.status();
    return program.ok() ? ChainOf(*program) : std::nullopt;
  }

  Graph graph_;
  std::vector<const Node*> nodes_;
  int inputs_ = 0;
};

void ExpectStep(const AccumulatorStep& step, Code code, Source source, float number = 0) {
  EXPECT_EQ(step.code, code);
  EXPECT_EQ(step.source, source);
  EXPECT_EQ(step.number, number);
}

TEST_F(PointwiseChainTest, TakesOperandsAndNumbersInOrder) {
  Value &x = Input(DType::kF16), &a = Input(DType::kF16), &b = Input(DType::kF16);
  Value& sum = Do("Add", {&Do("Mul", {&x, &a}), &b});
  const auto chain = ChainTo(Do("Sub", {&Do("Relu", {&sum}), &Number(DType::kF16, 2)}));
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->dtype, DType::kF16);
  EXPECT_EQ(chain->arithmetic, ChainArithmetic::kPairs);
  EXPECT_EQ(chain->reads, std::vector<int>({0, 1, 2}));
  ASSERT_EQ(chain->steps.size(), 5u);
  ExpectStep(chain->steps[0], Code::kMul, Source::kOperand);
  ExpectStep(chain->steps[1], Code::kAdd, Source::kOperand);
  ExpectStep(chain->steps[2], Code::kMax, Source::kNumber);
  ExpectStep(chain->steps[3], Code::kSub, Source::kNumber, 2);
  ExpectStep(chain->steps[4], Code::kStore, Source::kNone);
  EXPECT_TRUE(chain->steps[0].rounds);
  EXPECT_FALSE(chain->steps[3].rounds);  // its store does
}

TEST_F(PointwiseChainTest, SavesOneResultAndWritesSeveral) {
  Value &x = Input(DType::kBF16), &z = Input(DType::kBF16);
  Value& sum = Do("Add", {&x, &z});
  graph_.AddOutput("sum", sum);
  const auto chain = ChainTo(Do("Mul", {&sum, &Do("Sigmoid", {&sum})}));
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->arithmetic, ChainArithmetic::kPairs);
  ASSERT_EQ(chain->steps.size(), 5u);
  EXPECT_TRUE(chain->steps[0].saves);
  ExpectStep(chain->steps[1], Code::kStore, Source::kNone);
  ExpectStep(chain->steps[2], Code::kSigmoid, Source::kNone);
  ExpectStep(chain->steps[3], Code::kMul, Source::kRegister);
  ExpectStep(chain->steps[4], Code::kStore, Source::kNone);
  EXPECT_EQ(chain->steps[4].output, 1);
}

TEST_F(PointwiseChainTest, ComputesInF32WhatDoesNotRound) {
  Value& x = Input(DType::kF16);
  const auto chain = ChainTo(Do("Neg", {&Do("HardSigmoid", {&Do("Abs", {&x})})}));
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->arithmetic, ChainArithmetic::kF32);
}

TEST_F(PointwiseChainTest, LeakyReluMultipliesByAnyNumber) {
  Value &x = Input(DType::kF16), &z = Input(DType::kF16);
  const auto chain = ChainTo(Do("Add", {&Do("LeakyRelu", {&x}, {{"alpha", 0.1F}}), &z}));
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->arithmetic, ChainArithmetic::kPairs);
}

TEST_F(PointwiseChainTest, TakesF32) {
  Value &x = Input(DType::kF32), &z = Input(DType::kF32);
  const auto chain =
      ChainTo(Do("Exp", {&Do("Sub", {&Number(DType::kF32, 0.1), &Do("Div", {&x, &z})})}));
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->arithmetic, ChainArithmetic::kF32);
  ASSERT_EQ(chain->steps.size(), 4u);
  ExpectStep(chain->steps[1], Code::kSubReversed, Source::kNumber, 0.1F);
}

TEST_F(PointwiseChainTest, LeavesTwoSavedResults) {
  Value& x = Input(DType::kF32);
  Value& a = Do("Exp", {&x});
  Value& b = Do("Neg", {&a});
  Value& c = Do("Abs", {&b});
  EXPECT_FALSE(ChainTo(Do("Mul", {&a, &Do("Mul", {&b, &Do("Tanh", {&c})})})));
}

TEST_F(PointwiseChainTest, LeavesOtherTypes) {
  Value &x = Input(DType::kF16), &z = Input(DType::kF32);
  Value& wide = Do("Cast", {&x}, {{"to", static_cast<int64_t>(DType::kF32)}});
  EXPECT_FALSE(ChainTo(Do("Relu", {&Do("Add", {&wide, &z})})));
}

TEST_F(PointwiseChainTest, LeavesResultsOfOtherTypes) {
  Value &x = Input(DType::kF16), &z = Input(DType::kF16);
  Value& narrow = Do("Cast", {&Do("Add", {&x, &z})}, {{"to", static_cast<int64_t>(DType::kI8)}});
  Value& back = Do("Cast", {&narrow}, {{"to", static_cast<int64_t>(DType::kF16)}});
  EXPECT_FALSE(ChainTo(Do("Mul", {&back, &z})));
}

TEST_F(PointwiseChainTest, LeavesIntegers) {
  Value &x = Input(DType::kI64), &z = Input(DType::kI64);
  EXPECT_FALSE(ChainTo(Do("Neg", {&Do("Add", {&x, &z})})));
}

TEST_F(PointwiseChainTest, LeavesRareCodes) {
  Value &x = Input(DType::kF32), &z = Input(DType::kF32);
  EXPECT_FALSE(ChainTo(Do("Sin", {&Do("Add", {&x, &z})})));
}

TEST_F(PointwiseChainTest, LeavesSelections) {
  Value &x = Input(DType::kF32), &z = Input(DType::kF32);
  EXPECT_FALSE(ChainTo(Do("Where", {&Do("Less", {&x, &z}), &x, &z})));
}

TEST_F(PointwiseChainTest, LeavesManyReads) {
  Value* sum = &Input(DType::kF32);
  for (int i = 0; i < kMostChainOperands; ++i) sum = &Do("Add", {sum, &Input(DType::kF32)});
  EXPECT_FALSE(ChainTo(*sum));
}

}  // namespace
}  // namespace onnx_cudnn
