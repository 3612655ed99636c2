// Ops behave as their traits state: checked against ONNX's schemas, and on every case row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "onnx/defs/schema.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/pointwise.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

using Names = std::set<std::string>;

Names OpsThat(bool (*has)(const OpDef& op)) {
  Names names;
  for (const OpDef* op : AllOps()) {
    if (has(*op)) names.insert(op->type);
  }
  return names;
}

// The ops of ONNX with an attribute of this name and type in their schema.
Names OpsWithAttribute(const char* name, onnx::AttributeProto::AttributeType type) {
  Names names;
  for (const OpDef* op : AllOps()) {
    const auto* schema = onnx::OpSchemaRegistry::Schema(op->type, kNewestOpset, op->domain);
    if (schema == nullptr) continue;
    auto found = schema->attributes().find(name);
    if (found != schema->attributes().end() && found->second.type == type) names.insert(op->type);
  }
  return names;
}

std::vector<OpCase> CasesWithOutputs() {
  std::vector<OpCase> cases = AllCases();
  std::erase_if(cases, [](const OpCase& c) { return !c.error.empty(); });
  return cases;
}

HostTensor FirstOutput(const OpCase& c) {
  return RunOp({c.op, c.inputs, c.attrs, static_cast<int>(c.expected.size())}).value()[0];
}

HostTensor As(DType dtype, const HostTensor& tensor) {
  const Numbers numbers = NumbersOf(tensor);
  return TensorOf(dtype, numbers.dims, numbers.values);
}

bool SameBytes(const HostTensor& a, const HostTensor& b) {
  return a.dtype() == b.dtype() && a.bytes() == b.bytes() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

// NaN equals NaN.
bool SameNumbers(const HostTensor& a, const HostTensor& b) {
  const Numbers x = NumbersOf(a), y = NumbersOf(b);
  return a.dtype() == b.dtype() && x.dims == y.dims &&
         std::equal(x.values.begin(), x.values.end(), y.values.begin(),
                    [](double u, double v) { return u == v || (std::isnan(u) && std::isnan(v)); });
}

// The numbers of an f32 tensor clamped to [-most, most]; other tensors unchanged.
HostTensor Within(double most, const HostTensor& tensor) {
  if (tensor.dtype() != DType::kF32) return tensor;
  Numbers numbers = NumbersOf(tensor);
  for (double& v : numbers.values) v = std::clamp(v, -most, most);
  return F32(numbers.dims, numbers.values);
}

// Whether each element of `output` is an element of an input, or 0.
bool MadeOf(const HostTensor& output, const std::vector<HostTensor>& inputs) {
  std::set<double> elements = {0};
  for (const HostTensor& input : inputs) {
    if (!input.defined() || input.dtype() != output.dtype()) continue;
    const std::vector<double> values = NumbersOf(input).values;
    elements.insert(values.begin(), values.end());
  }
  const std::vector<double> values = NumbersOf(output).values;
  return std::all_of(values.begin(), values.end(), [&](double v) { return elements.contains(v); });
}

TEST(TraitsTest, OpsThatKeepBytesGiveTheirInput) {
  Names untested = OpsThat([](const OpDef& op) { return op.traits.keeps_bytes; });
  for (const OpCase& c : CasesWithOutputs()) {
    if (!FindOp(c.op)->traits.keeps_bytes) continue;
    untested.erase(c.op);
    EXPECT_TRUE(SameBytes(FirstOutput(c), c.inputs[0])) << c.op;
  }
  EXPECT_EQ(untested, Names());
}

TEST(TraitsTest, OpsThatMoveBytesComputeNothing) {
  Names untested = OpsThat([](const OpDef& op) { return op.traits.moves_bytes; });
  for (const OpCase& c : CasesWithOutputs()) {
    if (!FindOp(c.op)->traits.moves_bytes) continue;
    untested.erase(c.op);
    EXPECT_TRUE(MadeOf(FirstOutput(c), c.inputs)) << c.op;
  }
  EXPECT_EQ(untested, Names());
}

// f16 differs from f32 by one rounding of each output.
TEST(TraitsTest, OpsThatComputeInF32RoundOnce) {
  Names untested = OpsThat([](const OpDef& op) { return op.traits.computes_in_f32; });
  for (const OpCase& c : CasesWithOutputs()) {
    if (!FindOp(c.op)->traits.computes_in_f32 || c.inputs[0].dtype() != DType::kF32) continue;
    OpCase low = c, wide = c;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const bool is_data = c.op != "Resize" || i == 0;  // the scales are f32
      if (c.inputs[i].dtype() != DType::kF32 || !is_data) continue;
      low.inputs[i] = As(DType::kF16, c.inputs[i]);
      wide.inputs[i] = As(DType::kF32, low.inputs[i]);
    }
    untested.erase(c.op);
    EXPECT_TRUE(SameNumbers(FirstOutput(low), As(DType::kF16, FirstOutput(wide)))) << c.op;
  }
  EXPECT_EQ(untested, Names());
}

// Ops with results beyond the range of f16 for inputs within it.
TEST(TraitsTest, OpsThatLeaveTheRangeAreNotLowered) {
  for (const char* op : {"CumSum", "Exp", "LRN", "Log", "Pow", "Range", "Reciprocal", "ReduceL1",
                         "ReduceL2", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Sqrt"}) {
    EXPECT_FALSE(FindOp(op)->traits.keeps_range) << op;
    EXPECT_FALSE(FindOp(op)->traits.computes_in_f32) << op;
  }
}

// If f16 can represent the inputs of these ops (numbers up to 100), it can represent their outputs.
TEST(TraitsTest, OpsThatKeepTheRangeStayInTheRangeOfF16) {
  constexpr double kLargestF16 = 65504;
  Names untested = OpsThat([](const OpDef& op) { return op.traits.keeps_range; });
  for (OpCase& c : CasesWithOutputs()) {
    const bool divides = c.op == "Div";  // by a constant alone
    if (!FindOp(c.op)->traits.keeps_range || c.inputs[0].dtype() != DType::kF32 || divides)
      continue;
    for (HostTensor& input : c.inputs) input = Within(100, input);
    untested.erase(c.op);
    for (const double v : NumbersOf(FirstOutput(c)).values) {
      EXPECT_FALSE(std::abs(v) > kLargestF16) << c.op << " gives " << v;
    }
  }
  EXPECT_EQ(untested, Names({"Div"}));
}

TEST(TraitsTest, AnchorsComputeMoreThanAnElement) {
  for (const OpDef* op : AllOps()) {
    if (!op->traits.anchor) continue;
    EXPECT_EQ(FindPointwise(op->type), nullptr) << op->type;
    EXPECT_FALSE(op->traits.keeps_bytes || op->traits.moves_bytes) << op->type;
  }
}

TEST(TraitsTest, WindowOpsAreThoseWithAKernelShape) {
  EXPECT_EQ(OpsThat([](const OpDef& op) { return op.traits.has_window; }),
            OpsWithAttribute("kernel_shape", onnx::AttributeProto::INTS));
}

TEST(TraitsTest, TheWeightOfAWindowIsItsInputW) {
  for (const OpDef* op : AllOps()) {
    const auto* schema = onnx::OpSchemaRegistry::Schema(op->type, kNewestOpset, op->domain);
    if (schema == nullptr || !op->traits.has_window) continue;
    const auto& inputs = schema->inputs();
    const auto weight = std::find_if(inputs.begin(), inputs.end(), [](const auto& input) {
      return input.GetName() == "W" || input.GetName() == "w";
    });
    const int index = weight == inputs.end() ? -1 : static_cast<int>(weight - inputs.begin());
    EXPECT_EQ(op->traits.window_weight, index) << op->type;
  }
}

TEST(TraitsTest, AxisOpsAreThoseWithAnAxisOfInput0) {
  Names expected = OpsWithAttribute("axis", onnx::AttributeProto::INT);
  // If axis has no meaning, as with one scale for the whole tensor, it may be any number; a
  // TensorScatter's axis is never the batch axis.
  for (const char* other : {"DequantizeLinear", "QuantizeLinear", "TensorScatter"}) {
    EXPECT_EQ(expected.erase(other), 1U) << other;
  }
  EXPECT_EQ(OpsThat([](const OpDef& op) { return op.traits.axis != AxisRange::kNone; }), expected);
}

TEST(TraitsTest, AnUnknownOpHasNoTraits) {
  Graph graph;
  const Node& node = graph.AddNode({.op = "Relu", .domain = "com.acme"});
  EXPECT_FALSE(TraitsOf(node).keeps_range);
}

}  // namespace
}  // namespace onnx_cudnn
