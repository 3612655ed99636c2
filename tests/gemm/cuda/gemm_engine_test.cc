#include "runtime/gemm/cuda/gemm_engine.h"

#include "absl/cleanup/cleanup.h"
#include "runtime/base/run_times.h"
#include "runtime/base/status.h"
#include "runtime/gemm/cuda/lower.h"
#include "runtime/plan/known_devices.h"
#include "runtime/session/engines.h"
#include "tests/cuda/fake_cuda.h"
#include "tests/gemm/cuda/fake_lt.h"
#include "tests/support/failing_fake.h"
#include "tests/support/proposed.h"
#include "tests/support/run_program.h"
#include "tests/support/test_engines.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kBiasRelu =
    "g (float[4,8] x, float[8,16] w, float[16] wb) => (y) "
    "{ t = MatMul(x, w) u = Add(t, wb) y = Relu(u) }";

class GemmEngineTest : public EngineTest {
 protected:
  GemmEngineTest() : EngineTest("gemm") { engine_ = gemm_.get(); }

  // The largest Candidate around the first Node with that op.
  static LtProblem Lowered(const Proposed& proposed) {
    const Candidate* largest = &proposed.candidates.front();
    for (const Candidate& c : proposed.candidates) {
      if (c.nodes.size() > largest->nodes.size()) largest = &c;
    }
    return *LowerProduct(*largest);
  }
  std::vector<Variant> VariantsOf(std::string_view text, const Target& target) const {
    const Graph graph = GraphWithWeights(text);
    return *engine_->Variants(At(graph, "MatMul").candidates.back(), target);
  }

  FakeCuda cuda_;
  FakeLt lt_;
  const std::unique_ptr<Engine> gemm_ = *MakeGemmEngine(0);
};

// The products that the descriptors describe, computed on the host, equal those of the Nodes. In
// the texts 16-bit floats are given as bits: 16384 is 2.
TEST_F(GemmEngineTest, MatrixProductsMatchTheirNodes) {
  ExpectCases({
      {"bias and Relu",
       "g (float16[4,8] x, float16[8,16] w, float16[16] wb) => (y) "
       "{ t = MatMul(x, w) u = Add(wb, t) y = Relu(u) }",
       "MatMul", "{MatMul Add Relu}"},
      {"scale, residual and bias",
       "g (float16[4,8] x, float16[8,16] w, float16[1,16] wb, float16[4,16] r) => (y) "
       "{ c = Constant<value = float16 {16384}>() t = MatMul(x, w) s = Mul(t, c) u = Add(s, r) "
       "y = Add(u, wb) }",
       "MatMul", "{MatMul Mul Add Add}"},
      {"bf16", "g (bfloat16[4,8] x, bfloat16[8,16] w) => (y) { y = MatMul(x, w) }", "MatMul",
       "{MatMul}"},
      {"a quotient",
       "g (float[4,8] x, float[8,16] w) => (y) "
       "{ c = Constant<value = float {4}>() t = MatMul(x, w) y = Div(t, c) }",
       "MatMul", "{MatMul Div}"},
      {"a bias that is no constant",
       "g (float[4,8] x, float[8,16] w, float[16] b) => (y) { t = MatMul(x, w) y = Add(t, b) }",
       "MatMul", "{MatMul Add}"},
      {"a constant residual",
       "g (float[4,8] x, float[8,16] w, float[4,16] wr) => (y) { t = MatMul(x, w) y = Add(t, wr) }",
       "MatMul", "{MatMul Add}"},
      {"one row, whose bias is a residual",
       "g (float[1,8] x, float[8,16] w, float[16] wb) => (y) { t = MatMul(x, w) y = Add(t, wb) }",
       "MatMul", "{MatMul Add}"},
      {"Gemm with a bias",
       "g (float[4,8] x, float[16,8] w, float[16] wb) => (y) "
       "{ t = Gemm<transB = 1, alpha = 0.5>(x, w, wb) y = Relu(t) }",
       "Gemm", "{Gemm Relu}"},
      {"Gemm of transposed factors with a scaled matrix",
       "g (float[8,4] x, float[16,8] w, float[4,16] c) => (y) "
       "{ y = Gemm<transA = 1, transB = 1, beta = 0.5>(x, w, c) }",
       "Gemm", "{Gemm}"},
      {"Gemm of a transposed Transpose",
       "g (float[4,8] x, float[8,16] w) => (y) "
       "{ t = Transpose(x) y = Gemm<transA = 1>(t, w) }",
       "Gemm", "{Transpose Gemm}"},
      {"a Transpose of either factor",
       "g (float[2,8,4] a, float[2,16,8] b) => (y) "
       "{ c = Transpose<perm = [0,2,1]>(a) d = Transpose<perm = [0,2,1]>(b) y = MatMul(c, d) }",
       "MatMul", "{Transpose Transpose MatMul}"},
      {"a weight for a whole batch, a residual and a bias",
       "g (float[2,3,4,8] x, float[8,16] w, float[2,3,4,16] r, float[16] wb) => (y) "
       "{ t = MatMul(x, w) u = Add(t, r) y = Add(u, wb) }",
       "MatMul", "{MatMul Add Add}"},
      {"one left factor for a whole batch",
       "g (float[4,8] x, float[3,8,16] b) => (y) { y = MatMul(x, b) }", "MatMul", "{MatMul}"},
      {"a transposed left factor for each of a batch",
       "g (float[3,8,4] x, float[8,16] w) => (y) "
       "{ t = Transpose<perm = [0,2,1]>(x) y = MatMul(t, w) }",
       "MatMul", "{Transpose MatMul}"},
  });
}

TEST_F(GemmEngineTest, PointConvolutionsMatchTheirNodes) {
  ExpectCases({
      {"bias, residual and Relu",
       "g (float16[2,8,4,4] x, float16[8,8,1,1] w, float16[8] wb) => (y) "
       "{ t = Conv(x, w, wb) s = Add(t, x) y = Relu(s) }",
       "Conv", "{Conv Add Relu}"},
      {"padded channels",
       "g (float[2,3,4,4] x, float[6,3,1,1] w, float[6] wb, float[2,6,4,4] r) => (y) "
       "{ t = Conv(x, w, wb) s = Add(t, r) y = Relu(s) }",
       "Conv", "{Conv Add Relu}"},
      {"a constant residual and an added bias, padded",
       "g (float[2,3,4,4] x, float[6,3,1,1] w, float[1,6,1,1] wb, float[2,6,4,4] wr) => (y) "
       "{ t = Conv(x, w) s = Add(t, wr) y = Add(s, wb) }",
       "Conv", "{Conv Add Add}"},
      {"an added bias that is no constant",
       "g (float[2,3,4,4] x, float[6,3,1,1] w, float[6,1,1] b) => (y) "
       "{ t = Conv(x, w) y = Add(t, b) }",
       "Conv", "{Conv Add}"},
      {"a weight that is no constant, padded input",
       "g (float[2,3,4,4] x, float[6,3,1,1] v) => (y) { y = Conv(x, v) }", "Conv", "{Conv}"},
      {"one channel", "g (float[2,1,4,4] x, float[1,1,1,1] w) => (y) { y = Conv(x, w) }", "Conv",
       "{Conv}"},
      {"one dim", "g (float[2,8,5] x, float[8,8,1] w) => (y) { y = Conv(x, w) }", "Conv", "{Conv}"},
  });
}

TEST_F(GemmEngineTest, RowMajorProductsSwapTheirFactors) {
  const Graph graph = GraphWithWeights(kBiasRelu);
  const LtProblem problem = Lowered(At(graph, "MatMul"));
  EXPECT_EQ(problem.a, (LtOperand{LtOperand::Kind::kConstant, 0}));  // w
  EXPECT_EQ(problem.b, (LtOperand{LtOperand::Kind::kInput, 0}));
  EXPECT_EQ(problem.bias, (LtOperand{LtOperand::Kind::kConstant, 1}));
  EXPECT_EQ(problem.a_matrix, (LtMatrix{16, 8, 16, 128}));
  EXPECT_EQ(problem.b_matrix, (LtMatrix{8, 4, 8, 32}));
  EXPECT_EQ(problem.d_matrix, (LtMatrix{16, 4, 16, 64}));
  EXPECT_EQ(problem.activation, LtProblem::Activation::kRelu);
  EXPECT_FALSE(problem.transposes_a || problem.transposes_b);
}

TEST_F(GemmEngineTest, WeightsOfPointConvolutionsAreUsedAsTheyLie) {
  const Graph graph =
      GraphWithWeights("g (float16[2,8,4,4] x, float16[16,8,1,1] w) => (y) { y = Conv(x, w) }");
  const LtProblem problem = Lowered(At(graph, "Conv"));
  EXPECT_TRUE(problem.transposes_a);
  EXPECT_EQ(problem.a_matrix, (LtMatrix{8, 16, 8, 0}));
  EXPECT_EQ(problem.b_matrix, (LtMatrix{8, 32, 8, 0}));
  EXPECT_EQ(problem.constants[0].recipe, "");
}

TEST_F(GemmEngineTest, OneWeightForABatchIsOneProduct) {
  const Graph graph =
      GraphWithWeights("g (float[2,3,4,8] x, float[8,16] w) => (y) { y = MatMul(x, w) }");
  const LtProblem problem = Lowered(At(graph, "MatMul"));
  EXPECT_EQ(problem.batch, 1);
  EXPECT_EQ(problem.d_matrix.columns, 24);
}

TEST_F(GemmEngineTest, NumericsReachTheLibrary) {
  Target target = target_;
  EXPECT_EQ(VariantsOf(kBiasRelu, target).size(), 1u);  // one is named twice, one has failed
  EXPECT_EQ(lt_.compute_type(), CUBLAS_COMPUTE_32F);
  EXPECT_EQ(lt_.reduction_schemes(), uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  EXPECT_EQ(lt_.workspace_bytes(), uint64_t{32} << 20);
  EXPECT_EQ(lt_.alignment_of_a(), 16u);
  target.numerics = {.tf32 = true, .nondeterminism = true};
  VariantsOf(kBiasRelu, target);
  EXPECT_EQ(lt_.compute_type(), CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(lt_.reduction_schemes(),
            uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_INPLACE});
  VariantsOf("g (float16[4,8] x, float16[8,16] w) => (y) { y = MatMul(x, w) }", target);
  EXPECT_EQ(lt_.compute_type(), CUBLAS_COMPUTE_32F);
}

TEST_F(GemmEngineTest, VariantsAreNamedByTheirSettings) {
  const Graph graph = GraphWithWeights(kBiasRelu);
  const Candidate candidate = At(graph, "MatMul").candidates.back();
  const std::vector<Variant> variants = *engine_->Variants(candidate, target_);
  EXPECT_EQ(variants[0].text,
            "lt algo=60 tile=1 stages=1 splitk=1 reduction=1 swizzle=1 option=1 inner=1 cluster=1");
  EXPECT_EQ(engine_->version(), "cuBLASLt 13.1.0");
  EXPECT_EQ(engine_->Compile(candidate, variants[0], target_)->step()->workspace_bytes(), 1024);
  EXPECT_EQ(engine_->Compile(candidate, {"lt algo=9"}, target_)->reason(),
            "cuBLASLt 13.1.0 does not offer lt algo=9");
}

TEST_F(GemmEngineTest, AStepComesBackFromItsTextWithoutHeuristics) {
  const Graph graph = GraphWithWeights(kBiasRelu);
  const Proposed proposed = At(graph, "MatMul");
  const Candidate& candidate = proposed.candidates.back();
  const std::vector<Variant> variants = *engine_->Variants(candidate, target_);
  const Compiled compiled = *engine_->Compile(candidate, variants[0], target_);
  const std::string text = compiled.step()->Save();
  const int questions = lt_.questions();
  const auto loaded = engine_->Load(text, candidate, target_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(lt_.questions(), questions);
  EXPECT_EQ((*loaded)->workspace_bytes(), 1024);
  EXPECT_EQ((*loaded)->constants().size(), compiled.step()->constants().size());
  EXPECT_EQ((*loaded)->Save(), text);
}

TEST_F(GemmEngineTest, ATextOfAnotherVersionOrAlgorithmDoesNotLoad) {
  const Graph graph = GraphWithWeights(kBiasRelu);
  const Proposed proposed = At(graph, "MatMul");
  const Candidate& candidate = proposed.candidates.back();
  const Compiled compiled = *engine_->Compile(candidate, {}, target_);
  const std::string text = compiled.step()->Save();
  ASSERT_EQ(text.substr(0, 13), "lt1 130100 00");  // the fake's first algorithm
  const auto code_of = [&](const std::string& saved) {
    return engine_->Load(saved, candidate, target_).status().code();
  };
  EXPECT_EQ(code_of("lt1 130200" + text.substr(10)), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code_of("lt1 130100 ff" + text.substr(13)), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code_of(text.substr(0, text.size() - 2)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of(""), absl::StatusCode::kInvalidArgument);
}

TEST(GemmRefusalTest, NoAlgorithmIsARefusal) {
  FakeCuda cuda;
  FakeLt lt({.algorithms = 0});
  const std::unique_ptr<Engine> engine = *MakeGemmEngine(0);
  const Graph graph = GraphWithWeights(kBiasRelu);
  const Target target;
  const Node& anchor = FindNode(graph, "MatMul");
  const Candidate candidate{.nodes = {&anchor},
                            .engine = engine.get(),
                            .inputs = {{Format::RowMajor({4, 8})}},
                            .outputs = {{Format::RowMajor({4, 16})}}};
  const auto variants = engine->Variants(candidate, target);
  ASSERT_TRUE(variants.ok()) << variants.status();
  ASSERT_EQ(variants->size(), 1u);
  EXPECT_EQ(engine->Compile(candidate, variants->front(), target)->reason(),
            "cuBLASLt has no algorithm for it: CUBLAS_STATUS_NOT_SUPPORTED");
}

// The first launch of a kernel loads it.
TEST(GemmLaunchedTest, AProgramForFewRunsTakesAKernelThatWasLaunched) {
  FakeCuda cuda;
  FakeLt lt({.algorithms = 4});  // 60 and 62 are offered
  const std::unique_ptr<Engine> engine = *MakeGemmEngine(0);
  const Graph graph = GraphWithWeights(kBiasRelu);
  const Candidate candidate{.nodes = {&FindNode(graph, "MatMul")},
                            .engine = engine.get(),
                            .inputs = {{Format::RowMajor({4, 8})}},
                            .outputs = {{Format::RowMajor({4, 16})}}};
  const auto launched = [&](const Variant& variant, bool prefers_launched) {
    Target target;
    target.prefers_launched = prefers_launched;
    const auto compiled = engine->Compile(candidate, variant, target);
    const std::vector<float> x(4 * 8), w(8 * 16);
    std::vector<float> y(4 * 16);
    const void *in[] = {x.data()}, *constants[] = {w.data()};
    void* out[] = {y.data()};
    EXPECT_TRUE(compiled->step()
                    ->Launch({.in = in, .out = out, .constants = constants, .workspace = nullptr})
                    .ok());
    return lt.last_algorithm();
  };
  const std::vector<Variant> variants = *engine->Variants(candidate, {});
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(launched(variants[1], false), 62u);
  EXPECT_EQ(launched({}, true), 62u);
  EXPECT_EQ(launched({}, false), 60u);
  EXPECT_EQ(launched({}, true), 60u);  // both were: the best of them
}

TEST(GemmLaunchedTest, AQuickProgramCallsNothingWhereAKernelOfOursServes) {
  FakeCuda cuda;
  const FakeLt lt;
  const std::unique_ptr<Engine> engine = *MakeGemmEngine(0);
  const TestEngine own({.name = "kernel", .ops = {"MatMul"}, .us = 8});
  const Target target{.info = H200(), .engines = {engine.get(), &own}};
  const Graph graph =
      GraphWithWeights("g (float[4,8] x, float[8,16] w) => (y) { y = MatMul(x, w) }");
  const int created = lt.calls();
  const auto quick = BuildProgram(graph, {}, target, {.avoided_engines = AvoidedByQuickPrograms()});
  ASSERT_TRUE(quick.ok()) << quick.status();
  EXPECT_EQ(lt.calls(), created);
  EXPECT_EQ(Partitions(**quick), "kernel {MatMul} stream 0");
  EXPECT_EQ(Partitions(**BuildProgram(graph, {}, target, {})), "gemm {MatMul} stream 0");
  EXPECT_GT(lt.calls(), created);
}

constexpr std::string_view kBatchWithBias =
    "g (float[3,4,8] x, float[3,8,16] b, float[16] r) => (y) "
    "{ t = MatMul(x, b) y = Add(t, r) }";

// Creates the Engine, compiles a batch of products with a bias, and launches them.
absl::Status RunScenario(const Graph& graph) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, MakeGemmEngine(0));
  const Target target;
  struct Sink final : CandidateSink {
    void Add(Candidate candidate) override { all.push_back(std::move(candidate)); }
    void No(const Engine&, const Node&, std::string) override {}
    std::vector<Candidate> all;
  } sink;
  engine->Propose(graph, FindNode(graph, "MatMul"), target, sink);
  const Candidate& candidate = sink.all.back();
  ASSIGN_OR_RETURN(const auto variants, engine->Variants(candidate, target));
  ASSIGN_OR_RETURN(const Compiled compiled, engine->Compile(candidate, variants[0], target));
  if (compiled.step() == nullptr) return absl::UnimplementedError(compiled.reason());
  ASSIGN_OR_RETURN(const auto loaded, engine->Load(compiled.step()->Save(), candidate, target));
  std::vector<float> x(3 * 4 * 8, 1), b(3 * 8 * 16, 1), r(16, 1), y(3 * 4 * 16);
  const void* in[] = {x.data(), b.data(), r.data()};
  void* out[] = {y.data()};
  RETURN_IF_ERROR(loaded->Launch({.in = in, .out = out, .workspace = nullptr}));
  return y[0] == 9 ? absl::OkStatus() : absl::InternalError("a wrong sum");
}

TEST(GemmRunTimesTest, ItsLaunchesAreThoseOfALibrary) {
  const Graph graph = GraphWithWeights(kBatchWithBias);
  const FakeCuda cuda;
  const FakeLt lt;
  RunTimes times;
  {
    CollectRunTimes(&times);
    const absl::Cleanup ends = [] { CollectRunTimes(nullptr); };
    EXPECT_TRUE(RunScenario(graph).ok());
  }
  EXPECT_GT(times[RunPhase::kLibrary], 0);
  EXPECT_EQ(times[RunPhase::kLaunch], 0);
}

TEST(GemmFaultsTest, EachCallThatFailsOnceIsReportedAndLeaksNothing) {
  const Graph graph = GraphWithWeights(kBatchWithBias);
  FakeCuda cuda;
  const auto scenario = [&](FakeLt&) { return RunScenario(graph); };
  const auto is_release = [](const std::string& call) { return call.ends_with("Destroy"); };
  EXPECT_EQ(FailEachCall<FakeLt>(scenario, is_release), 15u);  // all but the version
}

}  // namespace
}  // namespace onnx_cudnn
