// Every Partition of whole networks, alone, against the references of its Nodes: small networks,
// and the model in ONNX_CUDNN_MODEL=FILE (free first dims are 1 or ONNX_CUDNN_BATCH=N, others 64).
#include <map>

#include "absl/strings/str_cat.h"
#include "passes/build_program.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "runtime/base/status.h"
#include "runtime/exec/step_runner.h"
#include "runtime/import/expand_function.h"
#include "runtime/import/onnx_loader.h"
#include "tests/gpu/check_candidate.h"
#include "tests/gpu/gpu_test.h"
#include "tests/ops/run_op.h"
#include "tests/support/networks.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kFreeSide = 64;

// Precisions of products: 16-bit floats; f32: the model unchanged.
constexpr DType kProducts[] = {DType::kF32, DType::kF16};

// Numbers around 0 for floats; 0 and 1 for other types, because they may be indices.
HostTensor NumbersFor(const Value& value, uint32_t seed) {
  std::vector<double> values = Pattern(value.elements(), seed);
  if (!kFloatTypes.Has(value.dtype())) {
    for (double& v : values) v = v > 0 ? 1 : 0;
  }
  return TensorOf(value.dtype(), value.dims(), values);
}

bool IsPlainNumbers(const Value& value) { return kFixedSizeTypes.Has(value.dtype()); }

class PartitionsTest : public GpuTest {
 protected:
  void CheckNetwork(Graph graph) {
    for (const DType products : kProducts) {
      SCOPED_TRACE(NameOf(products));
      CheckProgram(graph.Clone(), products);
    }
  }

 private:
  static std::map<std::string, Dims, std::less<>> DimsOf(const Graph& graph) {
    std::map<std::string, Dims, std::less<>> dims;
    const std::string batch = Variable("ONNX_CUDNN_BATCH");
    for (const Value* input : graph.inputs()) {
      Dims& of_input = dims[input->name()];
      for (const Dim& dim : input->type().dims) {
        const bool is_first = of_input.empty();
        const int64_t free = !is_first ? kFreeSide : batch.empty() ? 1 : std::stoll(batch);
        of_input.push_back(dim.value < 0 ? free : dim.value);
      }
    }
    return dims;
  }

  void CheckProgram(Graph graph, DType products) {
    PassContext context{.target = &target()};
    ASSERT_TRUE(RunPasses(graph, MakePipeline(2, products), {}, context).ok());
    const auto program =
        BuildProgram(graph, DimsOf(graph), target(), {.functions = &kOnnxFunctions});
    ASSERT_TRUE(program.ok()) << program.status();
    for (const Partition& partition : (*program)->partitions) CheckPartition(partition);
  }

  void CheckPartition(const Partition& partition) {
    const Candidate& candidate = partition.chosen;
    if (candidate.engine->name() == "host" || candidate.engine->name() == "view") return;
    SCOPED_TRACE(absl::StrCat(candidate.engine->name(), " ", Where(*candidate.nodes[0])));
    std::vector<HostTensor> inputs;
    for (const Value* v : BoundaryOf(candidate.nodes).inputs) {
      if (!IsPlainNumbers(*v)) return;
      inputs.push_back(NumbersFor(*v, static_cast<uint32_t>(inputs.size()) + 1));
    }
    const CandidateCheck check{
        .candidate = candidate, .target = target(), .device = device(), .constants = constants()};
    const absl::StatusOr<CandidateResult> result = CheckCandidate(check, inputs);
    ASSERT_TRUE(result.ok()) << result.status();
    for (const std::string& wrong : result->wrong) ADD_FAILURE() << wrong;
    EXPECT_GT(result->ran, 0);
  }
};

constexpr NetworkSize kSmall = {.batch = 2, .image = 96, .channel_share = 4};

TEST_F(PartitionsTest, OfResNet18) { CheckNetwork(ResNet18(kSmall)); }
TEST_F(PartitionsTest, OfResNet50) { CheckNetwork(ResNet50(kSmall)); }
// Large enough for the kernels meant for large batches.
TEST_F(PartitionsTest, OfResNet18AtBatch32) {
  if (IsEmulated()) GTEST_SKIP() << "needs a CUDA device: a CPU takes minutes";
  CheckNetwork(ResNet18({.batch = 32}));
}
TEST_F(PartitionsTest, OfInception) { CheckNetwork(Inception(kSmall)); }
TEST_F(PartitionsTest, OfUNet) { CheckNetwork(UNet(kSmall)); }
TEST_F(PartitionsTest, OfATransformer) { CheckNetwork(Transformer({.layers = 1})); }

TEST_F(PartitionsTest, OfTheModelThatIsNamed) {
  const std::string path = Variable("ONNX_CUDNN_MODEL");
  if (path.empty()) GTEST_SKIP() << "needs ONNX_CUDNN_MODEL=FILE";
  absl::StatusOr<Graph> graph = LoadModel(path);
  ASSERT_TRUE(graph.ok()) << graph.status();
  CheckNetwork(*std::move(graph));
}

}  // namespace
}  // namespace onnx_cudnn
