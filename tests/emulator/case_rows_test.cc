// Every case row of the ops, run by every kernel that supports it, in every dtype and Format.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/graph/infer.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/bounded_node.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

// Whether an input is a shape, an axis or an extent, which is usually constant in a static Graph.
bool IsParameter(const OpCase& c, size_t index) {
  if (c.op == "Range") return true;
  return c.op == "Resize" ? index > 0 : !kFloatTypes.Has(c.inputs[index].dtype());
}

HostTensor As(DType dtype, const HostTensor& tensor) {
  if (tensor.dtype() != DType::kF32) return tensor;
  return TensorOf(dtype, tensor.dims(), NumbersOf(tensor).values);
}

// The case as a Graph of one Node, its f32 operands as `dtype`.
struct CaseGraph {
  Graph graph;
  std::map<const Value*, HostTensor> inputs;
  bool is_valid = true;
};

CaseGraph GraphOf(const OpCase& c, DType dtype, bool parameters_are_inputs) {
  CaseGraph made;
  std::vector<Value*> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.inputs[i].defined()) {
      inputs.push_back(nullptr);
      continue;
    }
    const HostTensor tensor = As(dtype, c.inputs[i]);
    if (IsParameter(c, i) && !parameters_are_inputs) {
      inputs.push_back(&made.graph.AddConstant(tensor));
      continue;
    }
    Value& input =
        made.graph.AddInput(absl::StrCat("x", i), Type::Tensor(tensor.dtype(), tensor.dims()));
    made.inputs.emplace(&input, tensor);
    inputs.push_back(&input);
  }
  Node& node = made.graph.AddNode(
      {.op = c.op,
       .inputs = inputs,
       .attrs = c.attrs,
       .outputs = std::vector<std::string>(std::max<size_t>(1, c.expected.size()), "*"),
       .domain = c.domain});
  if (!InferShapes(made.graph).ok()) made.is_valid = false;
  if (made.is_valid && BoundOnlyNode(made.graph) != nullptr) return made;
  for (Value* v : node.outputs()) {
    if (v == nullptr) continue;
    made.graph.AddOutput("y", *v);
    made.is_valid = made.is_valid && v->is_static();
  }
  return made;
}

class CaseRowsTest : public KernelsTest {
 protected:
  CaseRowsTest() {
    target_with_few_blocks_.info.multiprocessors = 2;
    target_with_few_blocks_.info.l2_bytes = 1;  // which several images do not fit
  }

  void Run(const std::vector<OpCase>& cases) {
    for (const OpCase& c : cases) {
      for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
        const bool has_floats =
            std::any_of(c.inputs.begin(), c.inputs.end(),
                        [](const HostTensor& t) { return t.dtype() == DType::kF32; });
        if (dtype != DType::kF32 && !has_floats) continue;
        for (const bool parameters_are_inputs : {false, true}) {
          RunCase(c, dtype, parameters_are_inputs);
        }
      }
    }
    EXPECT_GT(run_, 0);
    RecordProperty("run", run_);
    RecordProperty("refused", refused_);
    std::string text = absl::StrJoin(failures_, "\n");
    EXPECT_TRUE(failures_.empty()) << failures_.size() << " of " << run_ << ":\n" << text;
  }

 private:
  void RunCase(const OpCase& c, DType dtype, bool parameters_are_inputs) {
    const CaseGraph made = GraphOf(c, dtype, parameters_are_inputs);
    if (!made.is_valid) return;
    const Proposed proposed = At(made.graph, *made.graph.TopologicalOrder()[0]);
    for (const Candidate& candidate : proposed.candidates) {
      const auto variants = engine_->Variants(candidate, target_with_few_blocks_);
      ASSERT_TRUE(variants.ok());
      for (const Variant& variant : *variants) RunVariant(made, candidate, variant, dtype);
    }
  }

  void RunVariant(const CaseGraph& made, const Candidate& candidate, const Variant& variant,
                  DType dtype) {
    const auto code = CompileVariant(candidate, variant, target_with_few_blocks_);
    const std::string where =
        absl::StrCat(variant.text, " ", NameOf(dtype), " ", Describe(candidate), ": ");
    if (absl::IsUnimplemented(code.status())) {
      ++refused_;
      return;
    }
    std::vector<HostTensor> inputs;
    for (const Value* v : BoundaryOf(candidate.nodes).inputs) inputs.push_back(made.inputs.at(v));
    ++run_;
    // Sums are in f32 on both sides, but in a different order.
    const std::string difference =
        emulator::CompareWithReference(code, candidate, inputs, emulator::ToleranceOf(dtype, 2e-5));
    if (!difference.empty()) failures_.push_back(absl::StrCat(where, difference));
  }

  Target target_with_few_blocks_ = target_;
  int run_ = 0, refused_ = 0;
  std::vector<std::string> failures_;
};

TEST_F(CaseRowsTest, Pointwise) { Run(PointwiseCases()); }
TEST_F(CaseRowsTest, Movement) { Run(MovementCases()); }
TEST_F(CaseRowsTest, MovementErrors) { Run(MovementErrorCases()); }
TEST_F(CaseRowsTest, Numeric) { Run(NumericCases()); }
TEST_F(CaseRowsTest, Contrib) { Run(ContribCases()); }
TEST_F(CaseRowsTest, Quantized) { Run(QuantizedCases()); }
TEST_F(CaseRowsTest, DataDependent) { Run(DataDependentCases()); }
TEST_F(CaseRowsTest, Sampling) { Run(SamplingCases()); }
TEST_F(CaseRowsTest, Sequence) { Run(SequenceCases()); }

}  // namespace
}  // namespace onnx_cudnn
