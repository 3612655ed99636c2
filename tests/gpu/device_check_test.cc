// The tuner's checks, on the GPU itself.
#include "runtime/tune/device_check.h"

#include "absl/strings/str_format.h"
#include "runtime/plan/pricer.h"
#include "tests/gpu/kernel_test.h"

namespace onnx_cudnn {
namespace {

class DeviceCheckTest : public KernelTest {
 protected:
  // Whether the check finds that the kernel of `step_op` computes `op`, for each Format of its
  // operands.
  std::vector<bool> Agreements(const std::string& op, const std::string& step_op,
                               const std::string& dtype, const std::string& dims) {
    const auto graph_of = [&](const std::string& name) {
      return GraphWithWeights(absl::StrFormat("g (%s[%s] x) => (%s[%s] y) { y = %s(x) }", dtype,
                                              dims, dtype, dims, name));
    };
    const Graph graph = graph_of(op), step_graph = graph_of(step_op);
    const std::vector<Candidate> candidates = OfAllNodes(graph, op, target());
    const std::vector<Candidate> others = OfAllNodes(step_graph, step_op, target());
    EXPECT_EQ(candidates.size(), others.size());
    std::vector<bool> agreements;
    for (size_t i = 0; i < std::min(candidates.size(), others.size()); ++i) {
      const absl::StatusOr<Choice> choice = FirstThatCompiles(others[i], target());
      EXPECT_TRUE(choice.ok() && choice->compiled.step() != nullptr) << choice.status();
      Reference reference(candidates[i], target(), device(), constants());
      EXPECT_EQ(reference.Run(IndexValues::kZero), absl::OkStatus());
      DeviceCheck check(candidates[i], target(), device(), constants(), reference);
      const DType type = graph.inputs()[0]->dtype();
      const auto agrees =
          check.Agrees(choice->compiled.step(), {ToleranceOf(type, /*tf32=*/false)});
      EXPECT_TRUE(agrees.ok()) << agrees.status();
      agreements.push_back(agrees.ok() && *agrees);
    }
    return agreements;
  }
};

TEST_F(DeviceCheckTest, DistinguishesRightFromWrong) {
  for (const char* dtype : {"float", "float16", "bfloat16"}) {
    SCOPED_TRACE(dtype);
    const std::vector<bool> right = Agreements("Relu", "Relu", dtype, "3,64,113,56");
    EXPECT_EQ(right, std::vector<bool>(right.size(), true));
    const std::vector<bool> wrong = Agreements("Relu", "Abs", dtype, "3,64,113,56");
    EXPECT_EQ(wrong, std::vector<bool>(right.size(), false));
    EXPECT_GE(right.size(), 2u);
  }
}

TEST_F(DeviceCheckTest, LeavesPaddingToTheHost) {
  const std::vector<bool> agreements = Agreements("Relu", "Relu", "float16", "3,13,113,56");
  // Row-major and channels-last without padding, then with it.
  EXPECT_EQ(agreements.front(), true);
  EXPECT_EQ(agreements.back(), false);
}

}  // namespace
}  // namespace onnx_cudnn
