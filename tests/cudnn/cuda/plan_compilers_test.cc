#include "runtime/cudnn/cuda/plan_compilers.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cudnn/cuda/cudnn_engine.h"
#include "runtime/cudnn/cuda/lower.h"
#include "tests/cudnn/cuda/without_gpu.h"
#include "tests/support/proposed.h"
#include "tests/support/source_file.h"

namespace onnx_cudnn {
namespace {

class PlanCompilersTest : public WithoutGpuTest {
 protected:
  void SetUp() override {
    WithoutGpuTest::SetUp();
    if (IsSkipped()) return;
    candidate_ = std::make_unique<Candidate>(LargestAt(*engine_, graph_, "Conv", target_));
    lowered_ = *Lower(*candidate_);
    engines_ = *engine_->Variants(*candidate_, target_);
  }

  // What a process that `word` spoils answers, or a sound one.
  static std::vector<std::string> Command(const std::string& word = "") {
    std::vector<std::string> command = {PLAN_SERVER, SourceFile("tests/cudnn/cuda/h200.json")};
    if (!word.empty()) command.push_back(word);
    return command;
  }

  // The engine compiles the Candidate although its processes do not.
  void ExpectCompiledHere(std::unique_ptr<PlanCompilers> compilers) {
    const auto engine = MakeCudnnEngineFor(Properties(), std::move(compilers));
    ASSERT_TRUE(engine.ok()) << engine.status();
    const absl::StatusOr<Compiled> compiled =
        (*engine)->Compile(*candidate_, engines_.front(), target_);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_NE(compiled->step(), nullptr) << compiled->reason();
  }

  const Graph graph_ = GraphWithWeights(
      "g (float16[1,64,14,14] x, float16[64,64,3,3] w0, float16[64] w1) => (y)"
      "{ a = Conv<pads = [1,1,1,1]>(x, w0, w1)\n y = Relu(a) }");
  std::unique_ptr<Candidate> candidate_;
  CudnnGraph lowered_;
  std::vector<Variant> engines_;
};

TEST_F(PlanCompilersTest, AnotherProcessCompilesAPlan) {
  PlanCompilers compilers(Command(), 1);
  const absl::StatusOr<std::string> saved = compilers.Compile(lowered_, engines_.front().text);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const auto loaded = LoadPlan(*saved, OperandsOf(lowered_), {.properties = Properties()});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto built = BuildPlan(lowered_, engines_.front().text, {.properties = Properties()});
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ((*loaded)->workspace_bytes(), (*built)->workspace_bytes());
}

TEST_F(PlanCompilersTest, ARefusalStaysOne) {
  PlanCompilers compilers(Command(), 1);
  const absl::Status refused = compilers.Compile(lowered_, "engine 999999").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented) << refused;
  const auto here = BuildPlan(lowered_, "engine 999999", {.properties = Properties()});
  EXPECT_EQ(refused, here.status());
  EXPECT_TRUE(compilers.Compile(lowered_, engines_.front().text).ok());  // and it goes on
}

TEST_F(PlanCompilersTest, WhatIsNoEngineIsLeftToTheCaller) {
  PlanCompilers compilers(Command(), 2);
  EXPECT_EQ(compilers.Compile(lowered_, "none").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(compilers.running(), 1);  // a process that fails once is not asked again
  EXPECT_TRUE(compilers.Compile(lowered_, engines_.front().text).ok());
}

TEST_F(PlanCompilersTest, MoreCallersThanProcessesWait) {
  PlanCompilers compilers(Command(), 2);
  std::vector<absl::Status> statuses(5);
  std::vector<std::thread> callers;
  for (absl::Status& status : statuses) {
    callers.emplace_back(
        [&] { status = compilers.Compile(lowered_, engines_.front().text).status(); });
  }
  for (std::thread& caller : callers) caller.join();
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
}

// Compiled here, what ends a process would end this one.
TEST_F(PlanCompilersTest, APlanThatEndsItsProcessIsNotCompiledHere) {
  PlanCompilers compilers(Command("dies"), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(compilers.Compile(lowered_, engines_.front().text).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(compilers.running(), 0);
  EXPECT_EQ(compilers.Compile(lowered_, engines_.front().text).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(PlanCompilersTest, ProcessesThatFailAreDoneWithout) {
  ExpectCompiledHere(std::make_unique<PlanCompilers>(Command("babbles"), 1));
}

TEST_F(PlanCompilersTest, ProcessesThatAreNotReadyAreDoneWithout) {
  ExpectCompiledHere(std::make_unique<PlanCompilers>(Command("ends-early"), 2));
}

TEST_F(PlanCompilersTest, AProgramThatIsMissingIsDoneWithout) {
  ExpectCompiledHere(
      std::make_unique<PlanCompilers>(std::vector<std::string>{"/none/plan-server"}, 2));
}

}  // namespace
}  // namespace onnx_cudnn
