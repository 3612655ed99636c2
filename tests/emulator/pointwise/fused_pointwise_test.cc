// DAGs of element-wise Nodes as programs of the fused kernel, in every Format that is proposed.
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "runtime/ops/primitives.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

class FusedPointwiseTest : public KernelsTest {
 protected:
  FusedPointwiseTest() { one_multiprocessor_.info.multiprocessors = 1; }

  Value& Input(DType dtype, const Dims& dims) {
    const uint32_t seed = static_cast<uint32_t>(inputs_.size()) + 1;
    Value& v = graph_.AddInput(absl::StrCat("x", seed), Type::Tensor(dtype, dims));
    inputs_.emplace(&v, TensorOf(dtype, dims, Pattern(ElementsOf(dims), seed)));
    return v;
  }
  Value& Input(DType dtype, const Dims& dims, const std::vector<double>& values) {
    Value& v = graph_.AddInput(absl::StrCat("x", inputs_.size() + 1), Type::Tensor(dtype, dims));
    inputs_.emplace(&v, TensorOf(dtype, dims, values));
    return v;
  }
  void Clear() {
    graph_ = Graph();
    inputs_.clear();
  }
  Value& Do(std::string op, std::vector<Value*> inputs, Attrs attrs = {}) {
    return Append(graph_, std::move(op), std::move(inputs), std::move(attrs));
  }
  Value& Number(DType dtype, double number) {
    return graph_.AddConstant(TensorOf(dtype, {}, {number}));
  }
  Value& Cast(Value& v, DType to) { return Do("Cast", {&v}, {{"to", static_cast<int64_t>(to)}}); }

  // Runs every Candidate proposed at the first Node; the largest has `nodes` Nodes.
  void ExpectRuns(size_t nodes, double tolerance) {
    const Proposed proposed = At(graph_, *graph_.TopologicalOrder()[0]);
    size_t largest = 0;
    for (const Candidate& candidate : proposed.candidates) {
      const auto code = CompileVariant(candidate, {.text = "pointwise"}, one_multiprocessor_);
      ASSERT_TRUE(code.ok()) << code.status();
      largest = std::max(largest, candidate.nodes.size());
      std::vector<HostTensor> inputs;
      bool has_all = true;
      for (const Value* v : BoundaryOf(candidate.nodes).inputs) {
        has_all = has_all && inputs_.contains(v);
        if (has_all) inputs.push_back(inputs_.at(v));
      }
      if (!has_all) continue;
      EXPECT_EQ(emulator::CompareWithReference(code, candidate, inputs, tolerance), "")
          << Describe(candidate);
    }
    EXPECT_EQ(largest, nodes);
  }

  Graph graph_;
  std::map<const Value*, HostTensor> inputs_;
  Target one_multiprocessor_ = target_;
};

TEST_F(FusedPointwiseTest, ManyVectorsOfEveryThread) {
  Value &x = Input(DType::kF16, {3, 8, 41, 57}), &y = Input(DType::kF16, {3, 8, 41, 57});
  graph_.AddOutput("y", Do("Relu", {&Do("Sub", {&Do("Mul", {&x, &y}), &x})}));
  ExpectRuns(3, 0);
}

TEST_F(FusedPointwiseTest, ManyVectorsOfEveryThreadThatSelect) {
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    Clear();
    Value &x = Input(dtype, {3, 8, 41, 57}), &y = Input(dtype, {3, 8, 41, 57});
    Value& product = Do("Mul", {&x, &y});
    graph_.AddOutput("y", Do("Where", {&Do("Less", {&product, &x}), &product, &y}));
    ExpectRuns(3, 0);
  }
}

TEST_F(FusedPointwiseTest, BroadcastsChannelsInLongVectors) {
  Value &x = Input(DType::kBF16, {2, 16, 32, 16}), &gate = Input(DType::kBF16, {16, 1, 1});
  Value& bias = Input(DType::kBF16, {16, 1, 1});
  Value& sum = Do("Add", {&Do("Mul", {&x, &gate}), &bias});
  graph_.AddOutput("sum", sum);
  graph_.AddOutput("y", Do("Mul", {&sum, &Do("Relu", {&sum})}));
  ExpectRuns(4, 1e-2);
}

TEST_F(FusedPointwiseTest, ChainsWithOperandsThatBroadcast) {
  const std::vector<Dims> others = {{2, 8, 4, 6}, {8, 1, 1}, {2, 1, 1, 1}, {2, 8, 1, 1}, {4, 6},
                                    {6},          {1},       {2, 1, 4, 6}, {4, 1}};
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    for (const Dims& dims : others) {
      Clear();
      Value &x = Input(dtype, {2, 8, 4, 6}), &a = Input(dtype, dims), &b = Input(dtype, dims);
      graph_.AddOutput("y", Do("Max", {&Do("Sub", {&b, &Do("Mul", {&x, &a})}), &a}));
      ExpectRuns(3, 0);
    }
  }
}

// The last vector is partial; runs of one element end within vectors.
TEST_F(FusedPointwiseTest, ChainsOfOddSizes) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    for (const Dims& dims : {Dims{1, 3, 1, 1}, Dims{3, 7, 5, 11}, Dims{2, 3, 49, 57}}) {
      Clear();
      Value &x = Input(dtype, dims), &z = Input(dtype, dims);
      Value &a = Input(dtype, {dims[1], 1, 1}), &row = Input(dtype, {dims[3]});
      Value& sum = Do("Add", {&Do("Mul", {&x, &a}), &z});
      graph_.AddOutput("sum", sum);
      graph_.AddOutput("y", Do("Min", {&Do("Sub", {&sum, &row}), &a}));
      ExpectRuns(4, 0);
    }
  }
}

// More full operands than are prefetched, and one that is read twice.
TEST_F(FusedPointwiseTest, ChainsOfManyOperands) {
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    Clear();
    const Dims dims = {3, 8, 40, 56};
    Value &x = Input(dtype, dims), &a = Input(dtype, dims), &b = Input(dtype, dims);
    Value &c = Input(dtype, dims), &d = Input(dtype, {8, 1, 1});
    Value& y = Do("Max", {&Do("Sub", {&Do("Add", {&Do("Mul", {&x, &a}), &b}), &c}), &d});
    graph_.AddOutput("y", Do("Min", {&Do("Neg", {&y}), &x}));
    ExpectRuns(6, 0);
  }
}

TEST_F(FusedPointwiseTest, ChainsKeepOneResultAndWriteSeveral) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    Clear();
    Value &x = Input(dtype, {3, 8, 40, 56}), &gate = Input(dtype, {8, 1, 1});
    Value& scaled = Do("Mul", {&x, &gate});
    Value& activated = Do("Relu", {&Do("Abs", {&scaled})});
    Value& residual = Do("Add", {&activated, &scaled});
    graph_.AddOutput("scaled", scaled);
    graph_.AddOutput("residual", residual);
    graph_.AddOutput("y", Do("Mul", {&residual, &Do("Sub", {&residual, &x})}));
    ExpectRuns(6, 0);
  }
}

// Numbers that 16 bits cannot represent, results between which nothing rounds, and every
// activation.
TEST_F(FusedPointwiseTest, ChainsInF32AndInPairs) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    const double tolerance = dtype == DType::kBF16 ? 8e-3 : 2e-3;
    Clear();
    Value &x = Input(dtype, {2, 8, 33, 40}), &z = Input(dtype, {2, 8, 33, 40});
    Value& hard = Do("HardSigmoid", {&Do("Add", {&x, &z})}, {{"alpha", 0.3F}, {"beta", 0.7F}});
    graph_.AddOutput("y", Do("Mul", {&Do("LeakyRelu", {&hard}, {{"alpha", 0.1F}}), &z}));
    ExpectRuns(4, tolerance);
    std::vector<std::string> activations = {"LeakyRelu"};
    for (const PrimitiveTraits& p : kPrimitives) {
      const bool is_activation = p.arity == 1 && p.executors == PrimitiveExecutors::kEverywhere;
      if (is_activation) activations.emplace_back(p.name);  // which is an op's, too
    }
    for (const std::string& op : activations) {
      Clear();
      Value &u = Input(dtype, {2, 8, 33, 40}), &v = Input(dtype, {2, 8, 33, 40});
      Value& t = Do(op, {&Do("Mul", {&u, &v})});
      graph_.AddOutput("y", Do("Div", {&t, &Number(dtype, 3)}));
      ExpectRuns(3, tolerance);
    }
  }
}

TEST_F(FusedPointwiseTest, ChainsRoundEveryNode) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Clear();
    Value &x = Input(dtype, {2, 8, 33, 40}), &z = Input(dtype, {2, 8, 33, 40});
    Value& third = Do("Div", {&x, &Number(dtype, 3)});
    Value& root = Do("Sqrt", {&Do("Abs", {&Do("Mul", {&third, &third})})});
    Value& sum = Do("Add", {&Do("Mul", {&root, &z}), &Number(dtype, 0.1)});
    graph_.AddOutput("y", Do("Div", {&Number(dtype, 7), &Do("Sub", {&sum, &x})}));
    ExpectRuns(8, 0);
  }
}

TEST_F(FusedPointwiseTest, ChainsOfNaNsInfinitiesAndSmallestNumbers) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    Clear();
    const double small = dtype == DType::kF16    ? 0x1p-24
                         : dtype == DType::kBF16 ? 0x1p-133
                                                 : 0x1p-149;
    const double large = dtype == DType::kF16 ? 65504 : 0x1.fep127;
    const std::vector<double> numbers = {nan, inf, -inf, 0.0, -0.0, 3 * small, -large, large, 1.5};
    std::vector<double> left, right;
    for (const double l : numbers) {
      for (const double r : numbers) {
        left.push_back(l);
        right.push_back(r);
      }
    }
    const Dims dims = {static_cast<int64_t>(left.size())};
    Value &x = Input(dtype, dims, left), &z = Input(dtype, dims, right);
    Value& product = Do("Mul", {&x, &z});
    Value& largest = Do("Max", {&product, &z});
    Value& difference = Do("Sub", {&largest, &x});
    graph_.AddOutput("product", product);
    graph_.AddOutput("largest", largest);
    graph_.AddOutput("difference", difference);
    graph_.AddOutput("y", Do("Relu", {&Do("Min", {&Do("Add", {&difference, &z}), &x})}));
    ExpectRuns(6, 0);
  }
}

TEST_F(FusedPointwiseTest, JoinsWithAnActivation) {
  Value &x = Input(DType::kF16, {3, 8, 41, 57}), &y = Input(DType::kF16, {3, 8, 41, 57});
  graph_.AddOutput("y", Do("Relu", {&Do("Add", {&x, &y})}));
  ExpectRuns(2, 0);
}

TEST_F(FusedPointwiseTest, BroadcastsChannelsAndPlanes) {
  Value &x = Input(DType::kF16, {2, 6, 7, 9}), &gate = Input(DType::kF16, {2, 6, 1, 1});
  Value &bias = Input(DType::kF16, {6, 1, 1}), &row = Input(DType::kF16, {9});
  Value& scaled = Do("Mul", {&x, &gate});
  Value& sum = Do("Add", {&Do("Sub", {&bias, &scaled}), &row});
  graph_.AddOutput("scaled", scaled);
  graph_.AddOutput("y", Do("Mul", {&sum, &Do("Sigmoid", {&sum})}));
  ExpectRuns(5, 2e-3);
}

TEST_F(FusedPointwiseTest, BroadcastsInWholeVectors) {
  Value &x = Input(DType::kF32, {2, 16, 8, 4}), &gate = Input(DType::kF32, {2, 16, 1, 1});
  Value& bias = Input(DType::kF32, {16, 1, 1});
  graph_.AddOutput("y", Do("Mul", {&Do("Add", {&x, &bias}), &gate}));
  ExpectRuns(2, 1e-6);
}

TEST_F(FusedPointwiseTest, SelectsWithinSelections) {
  Value &x = Input(DType::kF32, {5, 33}), &y = Input(DType::kF32, {33});
  Value& shrunk = Do("Shrink", {&x}, {{"lambd", 0.5F}, {"bias", 0.25F}});
  Value& leaky = Do("LeakyRelu", {&shrunk}, {{"alpha", 0.125F}});
  Value& less = Do("Less", {&leaky, &y});
  graph_.AddOutput("less", less);
  graph_.AddOutput("y", Do("Where", {&less, &shrunk, &Do("Abs", {&leaky})}));
  ExpectRuns(5, 1e-6);
}

TEST_F(FusedPointwiseTest, MixesTypesInTheWideMachine) {
  Value &x = Input(DType::kI64, {4, 31}), &y = Input(DType::kF32, {4, 31});
  Value& z = Input(DType::kF64, {31});
  Value& sum = Do("Add", {&x, &Number(DType::kI64, 3)});
  Value& halves = Do("Mul", {&Cast(sum, DType::kF32), &y});
  Value& wide = Do("Add", {&Cast(halves, DType::kF64), &z});
  Value& flags = Do("Equal", {&x, &sum});
  graph_.AddOutput("sum", sum);
  graph_.AddOutput("y", Do("Where", {&flags, &wide, &Do("Neg", {&wide})}));
  graph_.AddOutput("bytes", Cast(halves, DType::kU8));
  ExpectRuns(9, 1e-6);
}

TEST_F(FusedPointwiseTest, KeepsManyResultsAtOnce) {
  Value& x = Input(DType::kF32, {1000});
  std::vector<Value*> results = {&Do("Abs", {&x})};
  for (int i = 1; i < 6; ++i) {
    results.push_back(&Do("Add", {results.back(), &Number(DType::kF32, i)}));
  }
  Value* product = results.back();
  for (size_t i = 0; i + 1 < results.size(); ++i) product = &Do("Sub", {results[i], product});
  graph_.AddOutput("y", *product);
  ExpectRuns(11, 1e-6);
}

TEST_F(FusedPointwiseTest, RoundsEveryNode) {
  Value &x = Input(DType::kBF16, {257}), &y = Input(DType::kBF16, {257});
  Value& third = Do("Div", {&x, &Number(DType::kBF16, 3)});
  graph_.AddOutput("y", Do("Sub", {&Do("Mul", {&third, &y}), &third}));
  ExpectRuns(3, 0);
}

TEST_F(FusedPointwiseTest, SimpleFormsOfLargeTensors) {
  Value &x = Input(DType::kF32, {2, 1024, 33, 32}), &gate = Input(DType::kF32, {2, 1024, 1, 1});
  graph_.AddOutput("y", Do("LeakyRelu", {&Do("Sub", {&gate, &x})}, {{"alpha", 0.25F}}));
  ExpectRuns(2, 0);
}

TEST_F(FusedPointwiseTest, SimpleFormsOfEveryOperand) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    const Dims dims = {2, 8, 4, 6};
    for (const Dims& other : {dims, Dims{8, 1, 1}, Dims{2, 1, 1, 1}, Dims{1}, Dims{2, 8, 1, 1}}) {
      for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
        Clear();
        Value &x = Input(dtype, other), &y = Input(dtype, dims);
        graph_.AddOutput("y", Do("Relu", {&Do(op, {&x, &y})}));
        ExpectRuns(2, 1e-6);
      }
    }
  }
}

TEST_F(FusedPointwiseTest, GatesAndCasts) {
  Value& x = Input(DType::kBF16, {3, 131});
  graph_.AddOutput("y", Do("Mul", {&x, &Do("Sigmoid", {&x})}));
  ExpectRuns(2, 8e-3);
  for (const DType to : {DType::kF16, DType::kF32}) {
    Clear();
    graph_.AddOutput("y", Cast(Input(DType::kBF16, {3, 131}), to));
    ExpectRuns(1, 0);
  }
}

}  // namespace
}  // namespace onnx_cudnn
