#include "tools/common/verify_partitions.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/exec/host_engine.h"
#include "runtime/plan/known_devices.h"
#include "runtime/session/engines.h"
#include "tests/support/relu_engine.h"
#include "tests/support/session_maker.h"
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kN = 3;

// A planted fault: y = x + 1.
class AddOne final : public Step {
 public:
  absl::Status Launch(const LaunchArgs& args) const override {
    const auto* x = static_cast<const float*>(args.in[0]);
    auto* y = static_cast<float*>(args.out[0]);
    for (int64_t i = 0; i < kN; ++i) y[i] = x[i] + 1;
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }
};

class WrongRelu final : public ReluEngine {
 public:
  std::string_view name() const override { return "wrong"; }
  Cost Price(const Candidate&, const Target&) const override { return {.us = 1e-3}; }
  absl::StatusOr<Compiled> Compile(const Candidate&, const Variant&, const Target&) const override {
    return Compiled::As(std::make_shared<AddOne>());
  }
};

absl::StatusOr<Session> WithWrongRelu(std::string_view model) {
  EngineList engines;
  engines.push_back(std::make_unique<WrongRelu>());
  engines.push_back(MakeHostEngine(Space::kDevice));
  OpenedDevice opened{.device = MakeCpuDevice({.like_a_gpu = true}),
                      .target = TargetOver(std::move(engines), H200())};
  return SessionMaker::Make(model, {}, std::move(opened));
}

TEST(FindDivergenceTest, NamesTheFirstOfSeveralWrongPartitions) {
  const absl::StatusOr<Session> session = WithWrongRelu(R"(
      g (float[3] x) => (float[3] y) { a = Sin(x) b = Relu(a) c = Cos(b) y = Relu(c) })");
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<float> x = {1, 2, 3};
  const std::vector<NamedView> inputs = {{"x", View(x.data(), {kN})}};
  PartitionChecks checks(*session, inputs);
  ASSERT_TRUE(checks.Get().ok()) << checks.Get().status();
  RunReport report;
  FindDivergence(checks, report);
  ASSERT_EQ(report.partitions.size(), 1u);
  EXPECT_EQ(report.partitions[0].ops, "Relu: b");
  EXPECT_EQ(report.partitions[0].engine, "wrong");
  EXPECT_EQ(report.divergence, "");
  EXPECT_TRUE(absl::StrContains(FormatText(report, /*verbose=*/false),
                                "is the first that is wrong: Relu: b\n"));
}

class VerifyPartitionsTest : public ProgramsTest {};

// bf16 is more than these tolerances allow, but each partition computes what its types say.
TEST_F(VerifyPartitionsTest, ADifferenceOfNoPartitionIsSaid) {
  Write("m.onnx", *ModelBytesFromText(R"(
      g (float[2,4] x) => (float[2,2] y)
      <float[4,2] w = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}> { y = MatMul(x, w) })"));
  const std::string flags =
      "m.onnx --target h200 --precision bf16 --rtol 1e-6 --atol 1e-6 --verify reference";
  const Ended ended = RunTool(flags);
  ExpectFails(ended, 4, "differs from --verify");
  EXPECT_TRUE(absl::StrContains(ended.out, "first   each partition alone is right")) << ended.out;
  const Ended checked = RunTool(absl::StrCat(flags, " --check-partitions"));
  EXPECT_FALSE(absl::StrContains(checked.out, "each partition alone is right")) << checked.out;
}

}  // namespace
}  // namespace onnx_cudnn
