// Outputs whose shapes depend on data, which our own kernels compute within a bound.
#include "absl/strings/str_cat.h"
#include "runtime/graph/infer.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/bounded_node.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

struct Operand {
  DType dtype;
  Dims dims;
};

class BoundedRulesTest : public KernelsTest {
 protected:
  // What the kernels propose for a Node whose inputs are these, then `constants`.
  Proposed ProposedFor(const std::string& op, const std::vector<Operand>& inputs,
                       const std::vector<HostTensor>& constants = {}, const Attrs& attrs = {}) {
    graph_ = Graph();
    NodeSpec spec{.op = op, .attrs = attrs};
    for (const Operand& input : inputs) {
      spec.inputs.push_back(&graph_.AddInput("x", Type::Tensor(input.dtype, input.dims)));
    }
    for (const HostTensor& constant : constants) {
      spec.inputs.push_back(&graph_.AddConstant(constant));
    }
    graph_.AddNode(std::move(spec));
    EXPECT_TRUE(InferShapes(graph_).ok());
    const Node* node = BoundOnlyNode(graph_);
    EXPECT_NE(node, nullptr);
    return node == nullptr ? Proposed{} : At(graph_, *node);
  }
  double UsFor(const std::string& op, const std::vector<Operand>& inputs,
               const std::vector<HostTensor>& constants = {}, const Attrs& attrs = {}) {
    const Proposed proposed = ProposedFor(op, inputs, constants, attrs);
    EXPECT_EQ(proposed.candidates.size(), 1u);
    return proposed.candidates.empty() ? 0 : proposed.candidates[0].cost.us;
  }

 private:
  Graph graph_;
};

TEST_F(BoundedRulesTest, TakesWhatTheReferencesTake) {
  for (const DType dtype : {DType::kBool, DType::kI64, DType::kF16, DType::kF32, DType::kC128}) {
    EXPECT_EQ(ProposedFor("NonZero", {{dtype, {3, 4}}}).candidates.size(), 1u) << NameOf(dtype);
    EXPECT_EQ(ProposedFor("Compress", {{dtype, {12}}, {DType::kBool, {5}}}).candidates.size(), 1u)
        << NameOf(dtype);
  }
  for (const DType dtype : {DType::kBool, DType::kI8, DType::kU64, DType::kBF16, DType::kF64}) {
    EXPECT_EQ(ProposedFor("Unique", {{dtype, {3, 4}}}).candidates.size(), 1u) << NameOf(dtype);
  }
  const Operand boxes{DType::kF32, {1, 5, 4}}, scores{DType::kF32, {1, 2, 5}};
  EXPECT_EQ(ProposedFor("NonMaxSuppression", {boxes, scores}, {I64({}, {3})}).candidates.size(),
            1u);
}

TEST_F(BoundedRulesTest, RefusesMoreScoresThanItsWorkspaceHolds) {
  const auto propose = [&](int64_t classes) {
    return ProposedFor("NonMaxSuppression",
                       {{DType::kF32, {1, 2049, 4}}, {DType::kF32, {1, classes, 2049}}},
                       {I64({}, {1})});
  };
  EXPECT_EQ(propose(1 << 15).candidates.size(), 1u);
  EXPECT_EQ(propose((1 << 15) + 1).reasons,
            std::vector<std::string>{"non_max_suppression: it sorts more than 134217728 scores"});
}

// 200 boxes of 5,000 for each of 80 classes; all of 5,000 in one class takes one multiprocessor.
TEST_F(BoundedRulesTest, PricesBoxesByClasses) {
  const double many =
      UsFor("NonMaxSuppression", {{DType::kF32, {1, 5000, 4}}, {DType::kF32, {1, 80, 5000}}},
            {I64({}, {200}), F32({}, {0.5})});
  const double one =
      UsFor("NonMaxSuppression", {{DType::kF32, {1, 5000, 4}}, {DType::kF32, {1, 1, 5000}}},
            {I64({}, {5000}), F32({}, {0.5})});
  EXPECT_GT(many, 10);
  EXPECT_LT(many, 1000);
  EXPECT_GT(one, many);
}

// 32 MiB of f32 and 128 MiB of indices.
TEST_F(BoundedRulesTest, PricesIndicesByTraffic) {
  const double us = UsFor("NonZero", {{DType::kF32, {2048, 4096}}});
  EXPECT_GT(us, static_cast<double>(160 << 20) / target_.info.bytes_per_us);
  EXPECT_LT(us, 4 * static_cast<double>(160 << 20) / target_.info.bytes_per_us);
}

TEST_F(BoundedRulesTest, RefusesSlicesOfMoreElementsThanItsWorkspaceHolds) {
  const Attrs rows = {{"axis", int64_t{0}}};
  EXPECT_EQ(ProposedFor("Unique", {{DType::kU8, {1 << 20, 128}}}, {}, rows).candidates.size(), 1u);
  EXPECT_EQ(ProposedFor("Unique", {{DType::kU8, {1 << 20, 129}}}, {}, rows).reasons,
            std::vector<std::string>{"unique: it compares slices of more than 134217728 elements"});
}

// 2,048 pairs are sorted by one launch; 2^20 of them are read and written 55 times.
TEST_F(BoundedRulesTest, PricesDistinctElementsByPassesOfTheirSort) {
  const double few = UsFor("Unique", {{DType::kF32, {2048}}});
  const double many = UsFor("Unique", {{DType::kF32, {1 << 20}}});
  EXPECT_LT(few, 100);
  EXPECT_GT(many, 55 * static_cast<double>(16 << 20) / target_.info.bytes_per_us);
  EXPECT_LT(many, 1000);
  const Attrs rows = {{"axis", int64_t{0}}};
  EXPECT_GT(UsFor("Unique", {{DType::kF32, {1 << 20, 8}}}, {}, rows), many);
}

}  // namespace
}  // namespace onnx_cudnn
