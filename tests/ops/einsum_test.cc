#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/ops/einsum_plan.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

using Doubles = std::vector<double>;

struct Operand {
  std::string labels;
  Dims dims;
  Doubles values = {};
};

// A static Einsum over inputs of one dtype.
struct EinsumNode {
  Graph graph;
  Node* node;

  EinsumNode(const std::string& equation, DType dtype, const std::vector<Dims>& dims,
             const Dims& output) {
    NodeSpec spec{.op = "Einsum", .attrs = {{"equation", equation}}};
    for (const Dims& d : dims) spec.inputs.push_back(&graph.AddInput("x", Type::Tensor(dtype, d)));
    node = &graph.AddNode(std::move(spec));
    graph.SetType(node->output(0), Type::Tensor(dtype, output));
  }
};

Doubles RunEinsum(const std::string& equation, DType dtype, const std::vector<Operand>& operands,
                  const Dims& output) {
  std::vector<Dims> dims;
  std::vector<HostTensor> tensors;
  std::vector<TensorRef> in;
  for (const Operand& o : operands) {
    dims.push_back(o.dims);
    tensors.push_back(TensorOf(dtype, o.dims, o.values));
  }
  for (const HostTensor& t : tensors) in.push_back({t.dtype(), t.dims(), t.raw()});
  const EinsumNode einsum(equation, dtype, dims, output);
  HostTensor y = HostTensor::Allocate(dtype, output);
  const MutableTensorRef out[] = {{dtype, y.dims(), y.mutable_raw()}};
  HostTensor workspace =
      HostTensor::Allocate(DType::kU8, {FindOp("Einsum")->workspace(*einsum.node)});
  std::fill_n(static_cast<uint8_t*>(workspace.mutable_raw()), workspace.bytes(), 0xff);
  CHECK_OK(EvaluateNode({*einsum.node, in, out, workspace.mutable_raw(), ThreadPool::Default()}));
  return NumbersOf(y).values;
}

// One loop over all labels, as in the definition of Einsum.
struct Loops {
  std::map<char, int64_t> extents;

  explicit Loops(const std::vector<Operand>& operands) {
    for (const Operand& o : operands) {
      for (size_t a = 0; a < o.dims.size(); ++a) {
        int64_t& extent = extents.try_emplace(o.labels[a], 1).first->second;
        if (o.dims[a] != 1) extent = o.dims[a];
      }
    }
  }
  Dims DimsOf(const std::string& labels) const {
    Dims dims;
    for (char label : labels) dims.push_back(extents.at(label));
    return dims;
  }
  Doubles Sum(const std::vector<Operand>& operands, const std::string& output) const {
    Doubles y(ElementsOf(DimsOf(output)), 0);
    int64_t count = 1;
    for (const auto& [label, extent] : extents) count *= extent;
    for (int64_t i = 0; i < count; ++i) {
      std::map<char, int64_t> at;
      int64_t rest = i;
      for (const auto& [label, extent] : extents) at[label] = rest % extent, rest /= extent;
      double product = 1;
      for (const Operand& o : operands) product *= o.values[OffsetOf(o.labels, o.dims, at)];
      y[OffsetOf(output, DimsOf(output), at)] += product;
    }
    return y;
  }
  static int64_t OffsetOf(const std::string& labels, const Dims& dims,
                          const std::map<char, int64_t>& at) {
    int64_t offset = 0;
    for (size_t a = 0; a < dims.size(); ++a)
      offset = offset * dims[a] + (dims[a] == 1 ? 0 : at.at(labels[a]));
    return offset;
  }
};

void ExpectLoops(const std::string& equation, std::vector<Operand> operands,
                 const std::string& output, DType dtype) {
  SCOPED_TRACE(absl::StrCat(equation, " of ", NameOf(dtype)));
  const bool integers = kIntegerTypes.Has(dtype);
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i].values = Pattern(ElementsOf(operands[i].dims), static_cast<uint32_t>(i));
    for (double& v : operands[i].values) v = integers ? v * 8 + 0.5 : v;
  }
  const Loops loops(operands);
  const Doubles expected = loops.Sum(operands, output);
  const Doubles found = RunEinsum(equation, dtype, operands, loops.DimsOf(output));
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const double rounding = dtype == DType::kF16 ? 1e-3 : dtype == DType::kF32 ? 1e-7 : 1e-14;
    ASSERT_NEAR(found[i], expected[i],
                integers ? 0 : rounding * std::max(1.0, std::abs(expected[i])))
        << "at " << i;
  }
}

TEST(EinsumTest, AgreesWithOneLoopOverAllLabels) {
  const std::vector<std::pair<std::string, std::vector<Operand>>> cases = {
      {"ij,jk,kl->il", {{"ij", {13, 17}}, {"jk", {17, 11}}, {"kl", {11, 9}}}},
      {"bqhd,bkhd->bhqk", {{"bqhd", {2, 9, 3, 16}}, {"bkhd", {2, 10, 3, 16}}}},
      {"bhqk,bkhd->bqhd", {{"bhqk", {2, 3, 9, 10}}, {"bkhd", {2, 10, 3, 16}}}},
      {"kij,jlk->li", {{"kij", {5, 12, 9}}, {"jlk", {9, 11, 5}}}},  // k and j are no neighbours
      {"iki,ikj->j", {{"iki", {8, 6, 8}}, {"ikj", {8, 6, 12}}}},
      {"ijk->k", {{"ijk", {6, 70, 300}}}},
      {"ijk->ij", {{"ijk", {6, 70, 30}}}},
      {"ijk->ik", {{"ijk", {6, 70, 30}}}},
      {"ij->ji", {{"ij", {70, 30}}}},
      {"iij->ji", {{"iij", {7, 7, 3}}}},
      {"i,i->i", {{"i", {1000}}, {"i", {1000}}}},
      {"i,j->ji", {{"i", {40}}, {"j", {50}}}},
      {"bi,i,bi->b", {{"bi", {4, 300}}, {"i", {300}}, {"bi", {4, 300}}}},
      {"ij,jk->ik", {{"ij", {13, 1}}, {"jk", {9, 11}}}},  // 1 broadcasts
      {"ij,ij->ij", {{"ij", {13, 1}}, {"ij", {1, 11}}}},
      {"ij,jk->ik", {{"ij", {13, 0}}, {"jk", {0, 11}}}},
      {"ij,jk->ik", {{"ij", {0, 4}}, {"jk", {4, 11}}}},
      {",ij,->ij", {{"", {}}, {"ij", {3, 4}}, {"", {}}}},
  };
  for (const auto& [equation, operands] : cases) {
    const std::string output = equation.substr(equation.find("->") + 2);
    for (DType dtype : {DType::kF32, DType::kF64, DType::kI64, DType::kI32})
      ExpectLoops(equation, operands, output, dtype);
  }
}

TEST(EinsumTest, ExpandsEllipsesAndImpliesTheOutput) {
  ExpectLoops("...ij,...jk->...ik", {{"01ij", {2, 1, 13, 7}}, {"1jk", {5, 7, 9}}}, "01ik",
              DType::kF32);
  ExpectLoops("i...,j...", {{"i01", {3, 2, 5}}, {"j1", {4, 5}}}, "01ij", DType::kF32);
  ExpectLoops("ba,cb", {{"ba", {13, 7}}, {"cb", {5, 13}}}, "ac", DType::kF32);
  ExpectLoops("ii", {{"ii", {9, 9}}}, "", DType::kF16);
}

// Up to five operands with up to four of six labels, including extents of 1.
TEST(EinsumTest, AgreesOnRandomEquations) {
  std::mt19937 random(7);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  for (int i = 0; i < 400; ++i) {
    const std::string letters = "abcdef";
    std::map<char, int64_t> extents;
    for (char label : letters) extents[label] = 1 + below(5);
    std::vector<Operand> operands(1 + below(5));
    std::vector<std::string> terms;
    std::string all;
    for (Operand& o : operands) {
      for (int64_t axes = below(5); axes > 0; --axes) {
        const char label = letters[below(6)];
        const bool repeats = o.labels.find(label) != std::string::npos;
        o.labels += label;
        o.dims.push_back(below(6) == 0 && !repeats ? 1 : extents[label]);
      }
      terms.push_back(o.labels);
      all += o.labels;
    }
    std::string output;
    for (char label : letters) {
      if (all.find(label) != std::string::npos && below(2) == 0) output += label;
    }
    std::shuffle(output.begin(), output.end(), random);
    ExpectLoops(absl::StrCat(absl::StrJoin(terms, ","), "->", output), operands, output,
                i % 2 == 0 ? DType::kF64 : DType::kI64);
    if (HasFatalFailure()) return;
  }
}

TEST(EinsumTest, SumsFloatsInDouble) {
  // 2^24 + 1 - 2^24 in float would lose the 1.
  const Operand a{"ij", {1, 3}, {16777216, 1, -16777216}};
  EXPECT_EQ(RunEinsum("ij,jk->ik", DType::kF32, {a, {"jk", {3, 1}, {1, 1, 1}}}, {1, 1}),
            Doubles{1});
  EXPECT_EQ(RunEinsum("ij->i", DType::kF32, {a}, {1}), Doubles{1});
  // An intermediate product exceeds the largest float.
  const Operand large{"i", {1}, {1e30}}, small{"i", {1}, {1e-30}};
  EXPECT_EQ(RunEinsum("i,i,i->", DType::kF32, {large, large, small}, {}), Doubles{1e30f});
}

TEST(EinsumTest, WrapsIntegers) {
  const Operand a{"ij", {1, 2}, {65536, 3}}, b{"jk", {2, 1}, {65536, -2}};
  EXPECT_EQ(RunEinsum("ij,jk->ik", DType::kI32, {a, b}, {1, 1}), Doubles{-6});
}

TEST(EinsumTest, RefusesExtentsThatDiffer) {
  const EinsumNode einsum("ij,jk->ik", DType::kF32, {{2, 3}, {4, 5}}, {2, 5});
  EXPECT_EQ(CostOf(*einsum.node).flops, 0);
  const Doubles ones(20, 1);
  EXPECT_FALSE(RunOp({"Einsum",
                      {F32({2, 3}, Doubles(6, 1)), F32({4, 5}, ones)},
                      {{"equation", std::string("ij,jk->ik")}}})
                   .ok());
}

std::vector<std::string> OrderOf(const std::string& equation, const std::vector<Dims>& dims) {
  std::vector<size_t> ranks;
  for (const Dims& d : dims) ranks.push_back(d.size());
  const EinsumPlan plan = *PlanEinsum(*EinsumEquationOf(equation, ranks), dims);
  std::vector<std::string> order;
  for (const EinsumContraction& c : plan.contractions)
    order.push_back(absl::StrCat(plan.tensors[c.a], ",", plan.tensors[c.b], "->", c.result()));
  return order;
}

TEST(EinsumPlanTest, ContractsFirstWhatShrinksMost) {
  using Order = std::vector<std::string>;
  EXPECT_EQ(OrderOf("ij,jk,kl->il", {{2, 100}, {100, 100}, {100, 100}}),
            (Order{"ij,jk->ik", "ik,kl->il"}));
  EXPECT_EQ(OrderOf("ij,jk,kl->il", {{100, 100}, {100, 100}, {100, 2}}),
            (Order{"kl,jk->lj", "ij,lj->il"}));
  // No common label: multiplied last, although the product of the first two is small.
  EXPECT_EQ(OrderOf("i,j,jk->ik", {{2}, {2}, {2, 50}}), (Order{"jk,j->k", "i,k->ik"}));
}

TEST(EinsumPlanTest, SumsLabelsOfOneOperandBeforeItMultiplies) {
  EXPECT_EQ(OrderOf("ijx,jky->ik", {{2, 3, 9}, {3, 4, 9}}),
            (std::vector<std::string>{"ij,jk->ik"}));
}

TEST(EinsumPlanTest, RowsOfTheLastProductComeFirstInTheOutput) {
  EXPECT_EQ(OrderOf("ij,jk->ki", {{2, 3}, {3, 4}}), (std::vector<std::string>{"jk,ij->ki"}));
}

TEST(EinsumPlanTest, TakesManyOperands) {
  const std::vector<Dims> dims(300, Dims{3});
  const std::vector<std::string> terms(300, "i");
  EXPECT_EQ(OrderOf(absl::StrCat(absl::StrJoin(terms, ","), "->i"), dims).size(), 299u);
}

TEST(EinsumPlanTest, ElementsSaturate) {
  std::vector<Dims> dims;
  const std::string labels = "abcdefghij";
  for (size_t i = 0; i < labels.size(); ++i) dims.push_back({int64_t{1} << 20});
  const EinsumNode einsum("a,b,c,d,e,f,g,h,i,j->abcdefghij", DType::kF32, dims, {1});
  EXPECT_GT(FindOp("Einsum")->workspace(*einsum.node), int64_t{1} << 48);
  EXPECT_GT(CostOf(*einsum.node).flops, int64_t{1} << 45);
}

TEST(EinsumPlanTest, CostIsThatOfTheChosenOrder) {
  const Dims square = {400, 400};
  const EinsumNode chain("ij,jk,kl->il", DType::kF32, {square, square, square}, square);
  const Cost cost = CostOf(*chain.node);
  EXPECT_EQ(cost.flops, 2 * 2 * 400 * 400 * 400);
  EXPECT_EQ(cost.blas_flops, cost.flops);
  // Input and output are float; three operands and two results in double are written, and read
  // once.
  EXPECT_EQ(cost.bytes, 400 * 400 * (4 * 4 + 5 * 8 + 5 * 8));
  const EinsumNode sum("ij->i", DType::kI32, {square}, {400});
  EXPECT_EQ(CostOf(*sum.node).flops, 400 * 400);
  EXPECT_EQ(CostOf(*sum.node).blas_flops, 0);
}

}  // namespace
}  // namespace onnx_cudnn
