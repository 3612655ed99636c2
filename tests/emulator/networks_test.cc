// Whole networks through our kernels: every Partition of the Engine `kernel`, in every form of its
// code, against the references of its Nodes.
#include "tests/support/networks.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/build_program.h"
#include "passes/partition/cost_search.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"
#include "runtime/kernels/cuda/common/kernel_engine.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

class EmulatedNetworksTest : public KernelsTest {
 protected:
  EmulatedNetworksTest() {
    kernels_target_.engines = {view_.get(), cuda_.get(), host_.get()};
    kernels_target_.info.multiprocessors = 4;
  }

  // Expects every form of every Partition to agree, and at least `least` to be run.
  void Run(Graph graph, DType products, int least, Partitioner partitioner = CostSearch) {
    PassContext context;
    const auto passes = MakePipeline(/*level=*/2, products);
    ASSERT_TRUE(RunPasses(graph, passes, {}, context).ok());
    const auto program = BuildProgram(graph, {}, recording_target(), {.partitioner = partitioner});
    ASSERT_TRUE(program.ok()) << program.status();
    for (const Partition& p : (*program)->partitions) {
      if (p.chosen.engine != engine_) continue;
      Candidate candidate = p.chosen;
      candidate.engine = cuda_.get();
      if (!seen_.insert(Signature(candidate, kernels_target_)).second) continue;
      RunPartition(candidate, emulator::ToleranceOf(products, 1e-5));
    }
    EXPECT_TRUE(failures_.empty()) << failures_.size() << " of " << run_ << ":\n"
                                   << absl::StrJoin(failures_, "\n");
    EXPECT_GE(run_, least) << run_;
  }

 private:
  // Rules that make no CUDA calls: only RunPartition compiles code.
  Target recording_target() const {
    Target target = kernels_target_;
    target.engines = {view_.get(), engine_, host_.get()};
    return target;
  }

  void RunPartition(const Candidate& candidate, double tolerance) {
    const auto variants = cuda_->Variants(candidate, kernels_target_);
    ASSERT_TRUE(variants.ok());
    std::vector<HostTensor> inputs;
    for (const Value* v : BoundaryOf(candidate.nodes).inputs) {
      const uint32_t seed = static_cast<uint32_t>(inputs.size()) + 3;
      inputs.push_back(TensorOf(v->dtype(), v->dims(), Pattern(v->elements(), seed)));
    }
    for (const Variant& variant : *variants) {
      const auto code = CompileVariant(candidate, variant, kernels_target_);
      if (absl::IsUnimplemented(code.status())) continue;
      ++run_;
      const std::string difference =
          emulator::CompareWithReference(code, candidate, inputs, tolerance);
      if (difference.empty()) continue;
      failures_.push_back(absl::StrCat(variant.text, " ", Describe(candidate), ": ", difference));
    }
  }

  const std::unique_ptr<Engine> view_ = MakeViewEngine(), cuda_ = MakeCudaKernels(),
                                host_ = MakeHostEngine(Space::kHost);
  Target kernels_target_ = target_;
  std::set<std::string> seen_;
  std::vector<std::string> failures_;
  int run_ = 0;
};

constexpr NetworkSize kSmall = {.image = 96, .channel_share = 8};

TEST_F(EmulatedNetworksTest, ResNet18InHalfs) { Run(ResNet18(kSmall), DType::kF16, 20); }
TEST_F(EmulatedNetworksTest, ResNet50InBrainFloats) { Run(ResNet50(kSmall), DType::kBF16, 20); }
TEST_F(EmulatedNetworksTest, ResNet18InFloats) { Run(ResNet18(kSmall), DType::kF32, 5); }
TEST_F(EmulatedNetworksTest, InceptionInHalfs) { Run(Inception(kSmall), DType::kF16, 20); }
// A layer adds eight channels, which lie in the tensor that the block grows in.
TEST_F(EmulatedNetworksTest, DenseNetInHalfs) {
  Run(DenseNet({.image = 96, .channel_share = 4}), DType::kF16, 20);
}
TEST_F(EmulatedNetworksTest, NasNetInHalfs) { Run(NasNet(kSmall), DType::kF16, 10, Greedy); }
TEST_F(EmulatedNetworksTest, TransformerInHalfs) {
  Run(Transformer({.layers = 1, .tokens = 3, .past = 5, .heads = 2, .head_size = 8}), DType::kF16,
      10);
}

}  // namespace
}  // namespace onnx_cudnn
