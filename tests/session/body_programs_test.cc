// Sessions of models whose branches and iterations do work that a GPU runs.
#include <fcntl.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/file.h"
#include "runtime/session/tune_worker.h"
#include "tests/session/on_devices.h"

namespace onnx_cudnn {
namespace {

using Floats = std::vector<float>;

// Elements i of remainder r = i % remainders: r - shift.
Tensor Repeating(std::vector<int64_t> dims, int remainders, int shift) {
  Tensor tensor = Tensor::Allocate(DType::kF32, std::move(dims)).value();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(i % remainders - shift);
  }
  return tensor;
}

// On the CPU device the bodies run in the model's one Program.
class BodyProgramsTest : public SessionOnDevices {
 protected:
  static bool IsForGpu() { return GetParam() != OnDevice::kCpu; }

  void LoadBoth(const std::string& text, const SessionOptions& options = {}) {
    Load(text, options);
    absl::StatusOr<Session> cpu = SessionMaker::Make(GraphFromText(text), {.target = "cpu"});
    ASSERT_TRUE(cpu.ok()) << cpu.status();
    cpu_ = std::make_unique<Session>(*std::move(cpu));
  }

  // Small integers: every order of the sums gives the same numbers.
  void ExpectAsOnCpu(const std::vector<NamedValue>& inputs) {
    const std::vector<ModelValue> found = Run(inputs);
    auto expected = cpu_->RunValues(inputs);
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    ASSERT_EQ(found.size(), expected.value().size());
    for (size_t i = 0; i < found.size(); ++i) {
      const Tensor& tensor = expected.value()[i].tensor();
      const auto* data = tensor.data<float>();
      ExpectTensor<float>(found[i], tensor.shape(), Floats(data, data + tensor.elements()));
    }
  }

  // Of the last Run, where bodies are Programs; otherwise one Program ran.
  void ExpectStats(int64_t programs, int64_t between) {
    const SessionStats stats = session().stats();
    EXPECT_EQ(stats.segments, IsForGpu() ? programs : 1);
    EXPECT_EQ(stats.nodes_between, IsForGpu() ? between : 0);
  }

 private:
  std::unique_ptr<Session> cpu_;
};

// Both branches have one type, so that one Program with the references of both could run it.
constexpr std::string_view kChoice = R"(
    g (float[128,128] x) => (float[128,128] y) <float zero = {0}> {
      t = Relu(x)
      s = ReduceSum<keepdims = 0>(x)
      c = Greater(s, zero)
      z = If(c) <then_branch = a () => (p) { p = MatMul(t, x) },
                 else_branch = b () => (q) { m = Add(t, x) q = MatMul(m, x) }>
      y = Neg(z) })";

TEST_P(BodyProgramsTest, TheTakenBranchIsAProgram) {
  LoadBoth(std::string(kChoice));
  ExpectAsOnCpu({Repeating({128, 128}, 5, 1)});
  ExpectStats(/*programs=*/3, /*between=*/1);
  EXPECT_EQ(session().stats().builds.size(), IsForGpu() ? 3u : 1u);
  ExpectAsOnCpu({Repeating({128, 128}, 5, 3)});
  ExpectStats(/*programs=*/3, /*between=*/1);
  EXPECT_EQ(session().stats().builds.size(), IsForGpu() ? 4u : 1u);  // the other branch
}

TEST_P(BodyProgramsTest, APinNamesNodesOfOneProgram) {
  LoadBoth(std::string(kChoice), {.pins = "forbid * t y"});
  ExpectAsOnCpu({Repeating({128, 128}, 5, 1)});
  ExpectStats(/*programs=*/1, /*between=*/0);
}

TEST_P(BodyProgramsTest, WhatIsTunedInTheBackgroundIsOneProgram) {
  LoadBoth(std::string(kChoice), {.tune = TuneMode::kBackground});
  ExpectAsOnCpu({Repeating({128, 128}, 5, 1)});
  ExpectStats(/*programs=*/1, /*between=*/0);
}

TEST_P(BodyProgramsTest, AQuickProgramIsOne) {
  LoadBoth(std::string(kChoice), {.first_program = FirstProgram::kQuick});
  ExpectAsOnCpu({Repeating({128, 128}, 5, 1)});
  // On the CPU device no Program is quick.
  EXPECT_EQ(session().stats().segments, GetParam() == OnDevice::kTarget ? 3 : 1);
}

TEST_P(BodyProgramsTest, OutputsHaveTheShapesThatInputsGiveThem) {
  LoadBoth(R"(
      g (float[N,128] x, float[128,128] w) => (float[N,128] y) <float zero = {0}> {
        s = ReduceSum<keepdims = 0>(x)
        c = Greater(s, zero)
        z = If(c) <then_branch = a () => (p) { p = MatMul(x, w) },
                   else_branch = b () => (q) { m = Neg(x) q = MatMul(m, w) }>
        y = Neg(z) })");
  const Tensor x = Repeating({256, 128}, 5, 1), w = Repeating({128, 128}, 3, 1);
  for (int call = 0; call < 2; ++call) {
    auto infos = session().OutputsFor({x.view(), w.view()});
    ASSERT_TRUE(infos.ok()) << infos.error().message;
    EXPECT_EQ(ToString(infos.value()[0]), "y f32[256,128]");
  }
  ExpectAsOnCpu({x, w});
  ExpectStats(/*programs=*/3, /*between=*/1);
}

TEST_P(BodyProgramsTest, ABranchIsCapturedOnce) {
  LoadBoth(std::string(kChoice));
  ExpectCapturedOnce({Repeating({128, 128}, 5, 1)}, /*programs=*/3);
}

TEST_P(BodyProgramsTest, BranchesNest) {
  LoadBoth(R"(
      g (float[128,128] x) => (float[128,128] y) <float zero = {0}, float limit = {1000000}> {
        t = Relu(x)
        s = ReduceSum<keepdims = 0>(x)
        c = Greater(s, zero)
        z = If(c) <
          then_branch = a () => (p) {
            m = MatMul(t, x)
            r = ReduceSum<keepdims = 0>(m)
            d = Greater(r, limit)
            p = If(d) <then_branch = aa () => (u) { u = MatMul(m, t) },
                       else_branch = bb () => (v) { w = Sub(m, x) v = MatMul(w, t) }> },
          else_branch = b () => (q) { q = MatMul(x, x) }>
        y = Neg(z) })");
  ExpectAsOnCpu({Repeating({128, 128}, 5, 1)});  // the sum of m is about 2.5e6
  ExpectStats(/*programs=*/4, /*between=*/2);
  ExpectAsOnCpu({Repeating({128, 128}, 2, 0)});  // it is 0.5e6
  ExpectStats(/*programs=*/4, /*between=*/2);
  ExpectAsOnCpu({Repeating({128, 128}, 5, 3)});
  ExpectStats(/*programs=*/3, /*between=*/1);
}

TEST_P(BodyProgramsTest, BranchesOfScalarsStayInTheProgram) {
  LoadBoth(R"(
      g (float[128,128] x) => (float[128,128] y) <float zero = {0}> {
        s = ReduceSum<keepdims = 0>(x)
        c = Greater(s, zero)
        k = If(c) <then_branch = a () => (p) { p = Add(s, s) },
                   else_branch = b () => (q) { q = Neg(s) }>
        y = Mul(x, k) })");
  ExpectAsOnCpu({Repeating({128, 128}, 5, 1)});
  ExpectStats(/*programs=*/1, /*between=*/0);
  ExpectAsOnCpu({Repeating({128, 128}, 5, 3)});
  ExpectStats(/*programs=*/1, /*between=*/0);
}

TEST_P(BodyProgramsTest, IterationsOfAScanAreRunsOfAProgram) {
  // In 14 iterations its 302 nodes are more than copies of a body may add.
  std::string nodes, state = "s";
  for (int i = 0; i < 150; ++i) {
    absl::StrAppend(&nodes, "a", i, " = Add(", state, ", e) r", i, " = Relu(a", i, ") ");
    state = absl::StrCat("r", i);
  }
  LoadBoth(absl::StrCat(R"(
      g (float[64,128] x, float[14,64,128] xs) => (float[64,128] last, float[64,14,128] all) {
        last, all = Scan(x, xs) <num_scan_inputs = 1, scan_output_axes = [1],
          body = b (float[64,128] s, float[64,128] e) => (float[64,128] t, float[64,128] k) {)",
                        nodes, "t = Abs(", state, ") k = Neg(", state, ") }> }"));
  ExpectAsOnCpu({Repeating({64, 128}, 7, 3), Repeating({14, 64, 128}, 3, 1)});
  const SessionStats stats = session().stats();
  EXPECT_EQ(stats.nodes_between, IsForGpu() ? 1 : 0);
  if (IsForGpu()) {
    EXPECT_GE(stats.segments, 14);
  } else {
    EXPECT_EQ(stats.segments, 1);
  }
}

// Each iteration would wait for a Program that takes less time than the wait.
TEST_P(BodyProgramsTest, AScanOfSmallStepsStaysInTheProgram) {
  LoadBoth(R"(
      g (float[5000,16] x) => (float[5000,16] y) {
        y = Scan(x) <num_scan_inputs = 1,
          body = b (float[16] s) => (float[16] t) { t = Neg(s) }> })");
  ExpectAsOnCpu({Repeating({5000, 16}, 7, 3)});
  ExpectStats(/*programs=*/1, /*between=*/0);
}

// What a worker program measures in the background is the model's one Program.
TEST(BodyProgramsTuningTest, AWorkerProgramKeepsTheBranches) {
  const TempFolder folder;
  const std::string job = folder.path("job.json"), plans = folder.path("plans.json");
  const std::string done = folder.path("done");
  const std::string script =
      absl::StrCat("cp \"$1\" ", job, "\ncp \"$2\" ", plans, "\ntouch ", done, "\nexit 5\n");
  const Session session = SessionMaker::Make(kChoice, {.tune = TuneMode::kBackground,
                                                       .tune_worker = Worker(folder, script)})
                              .value();  // keeps the model's file
  const Tensor x = Repeating({128, 128}, 5, 1);
  ASSERT_TRUE(session.Run({x.view()}).ok());
  const absl::Time end = absl::Now() + absl::Seconds(60);
  while (!std::filesystem::exists(done) && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
  WorkerLines lines(
      Descriptor(open(folder.path("lines").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
  const absl::Status worked = WorkOnJob(
      job, plans, /*budget_s=*/10, /*one_at_a_time=*/true,
      [](const SessionOptions&) { return SessionMaker::Open(); }, lines);
  EXPECT_TRUE(worked.ok()) << worked;
}

INSTANTIATE_TEST_SUITE_P(Devices, BodyProgramsTest, AllDevices(), NameOfDevice);

}  // namespace
}  // namespace onnx_cudnn
