// The tools as processes: their output, files and exit codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file.h"
#include "runtime/import/onnx_loader.h"
#include "tests/support/graph_text.h"
#include "tests/tools/programs_fixture.h"
#include "tools/common/npy.h"

namespace onnx_cudnn {
namespace {

TEST_F(ProgramsTest, RunPrintsInputsOutputsAndLatency) {
  const Ended ended = RunTool("shift.onnx --shape 2x4 --top 1 --runs 3 --verbose");
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const char* text : {"device  cpu (", "input   x f32[2,4]", "output  y/0 f32[2,4]", "row 1",
                           "set-up  device", "p99", "3 runs"}) {
    EXPECT_TRUE(absl::StrContains(ended.out, text)) << text << "\n" << ended.out;
  }
}

TEST_F(ProgramsTest, HelpShowsEveryFlagAndEndsWithZero) {
  for (const char* program : {ONNX_CUDNN_RUN, ONNX_CUDNN_OPT, ONNX_CUDNN_BENCH}) {
    const Ended ended = Run(program, "--help");
    EXPECT_EQ(ended.code, 0);
    EXPECT_TRUE(absl::StrContains(ended.out, "Exit codes: 0 done"));
  }
  EXPECT_TRUE(absl::StrContains(RunTool("--help").out, "--warm-up  (0)"));
}

TEST_F(ProgramsTest, TakesTheFlagsOfTrtexec) {
  const Ended ended = RunTool("--onnx=shift.onnx --shapes=x:2x4 --iterations=3 --warmUp=1 --fp16");
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const char* text : {"input   x f32[2,4]", "3 runs"}) {
    EXPECT_TRUE(absl::StrContains(ended.out, text)) << text << "\n" << ended.out;
  }
  ExpectFails(RunTool("shift.onnx --saveEngine=a.plan"), 1, "--plan-cache FILE");
  ExpectFails(RunTool("shift.onnx --precison fp16"), 1, "did you mean --precision?");
}

TEST_F(ProgramsTest, PinsAreReadForRuns) {
  Write("pins.txt", "forbid nobody x\n");
  ExpectFails(RunTool("shift.onnx --shape 2x4 --pin pins.txt"), 2, "nobody");
  ExpectFails(RunTool("shift.onnx --pin none.txt"), 2, "none.txt");
}

TEST_F(ProgramsTest, VersionIsTheProjects) {
  for (const char* program : {ONNX_CUDNN_RUN, ONNX_CUDNN_OPT, ONNX_CUDNN_BENCH}) {
    const Ended ended = Run(program, "--version");
    EXPECT_EQ(ended.code, 0);
    EXPECT_TRUE(absl::StartsWith(ended.out, "onnx-cudnn ")) << ended.out;
  }
}

TEST_F(ProgramsTest, WrongUsageEndsWithOne) {
  ExpectFails(RunTool("shift.onnx --frobnicate-all"), 1, "unknown flag --frobnicate-all");
  ExpectFails(RunTool(""), 1, "expected one model file, found 0");
  ExpectFails(RunTool("shift.onnx --device tpu"), 1, "--device: expected auto, cpu or cuda");
  ExpectFails(RunTool("shift.onnx --partitioner best"), 1,
              "--partitioner: expected greedy or cost");
  for (const char* program : {ONNX_CUDNN_RUN, ONNX_CUDNN_BENCH}) {
    ExpectFails(Run(program, "shift.onnx --tune later"), 1,
                "--tune: expected foreground or background, found later");
  }
  ExpectFails(RunTool("shift.onnx --image nothing"), 1, "unknown image preset");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --passes no-such"), 1, "unknown pass \"no-such\"");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --bogus"), 1, "unknown flag --bogus");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --explain --target h900"), 1,
              "unknown target \"h900\", expected one of: cpu, h200, h100");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --explain --target h200 --capability 10.0"), 1,
              "compute capability 10.0, expected one from 8.0 to 9.0, that of h200");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --explain --target h200 --capability 8"), 1,
              "--capability: expected one like 8.0, found 8");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --pin pins.txt"), 1, "need --explain");
  EXPECT_EQ(RunTool("shift.onnx --runs many").code, 1);
}

TEST_F(ProgramsTest, InvalidModelsAndInputsEndWithTwo) {
  Write("dummy.onnx", "dummy");
  Write("short.npy", "\x93NUMPY");
  ExpectFails(RunTool("dummy.onnx"), 2, "dummy.onnx");
  ExpectFails(RunTool("none.onnx"), 2, "none.onnx");
  ExpectFails(RunTool("shift.onnx --input none.npy"), 2, "none.npy");
  ExpectFails(RunTool("shift.onnx --input short.npy"), 2, "short.npy");
  ExpectFails(RunTool("shift.onnx --shape 2x5"), 2, "expected x f32[N,4]");
  ExpectFails(Run(ONNX_CUDNN_OPT, "dummy.onnx"), 2, "dummy.onnx");
}

// The first command that users run on a model of their own.
TEST_F(ProgramsTest, ChosenExtentsOfOpenDimsAreReported) {
  Write("vision.onnx", *ModelBytesFromText(R"(
      g (float[batch,3,h,w] x) => (float[batch,3,h,w] y)
      { y = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x) })"));
  const std::string taken = " as 224, w as 224 (others: --shape x=1x3x224x224)";
  constexpr std::string_view kQuick = "--device cpu --runs 1 --warm-up 0 --seconds 0.01";
  for (const Ended& ended : {RunTool("vision.onnx"), Run(ONNX_CUDNN_OPT, "vision.onnx --explain"),
                             Run(ONNX_CUDNN_BENCH, absl::StrCat("vision.onnx ", kQuick))}) {
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(absl::StrContains(absl::StrCat(ended.out, ended.err), taken))
        << ended.out << ended.err;
  }
  Write("line.onnx", *ModelBytesFromText(R"(
      g (float[batch,8,length] x) => (float[batch,8,rest] y)
      { y = MaxPool<kernel_shape = [3]>(x) })"));
  for (const Ended& ended : {RunTool("line.onnx"), Run(ONNX_CUDNN_OPT, "line.onnx --explain"),
                             Run(ONNX_CUDNN_BENCH, absl::StrCat("line.onnx ", kQuick))}) {
    ExpectFails(ended, 2, "its window of 3 (kernel 3, dilation 1) is larger than the padded input");
    ExpectFails(ended, 2, " as 1 (others: --shape x=1x8x1)");
  }
}

TEST_F(ProgramsTest, UnsupportedModelsEndWithThree) {
  Write("decoder.onnx",
        *ModelBytesFromText("g (uint8[4] x) => (uint8[H,W,3] y) { y = ImageDecoder(x) }"));
  ExpectFails(RunTool("decoder.onnx"), 3, "ImageDecoder");
}

TEST_F(ProgramsTest, ModelsOfSequencesEndWithThree) {
  Write("sequence.onnx",
        *ModelBytesFromText("g (seq(float[2]) xs) => (int64 n) { n = SequenceLength(xs) }"));
  ExpectFails(RunTool("sequence.onnx"), 3, "Python run this one too");
}

TEST_F(ProgramsTest, OutOfMemoryEndsWithSix) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer has its own memory";
#endif
  const std::string limited = absl::StrCat("sh -c 'ulimit -v 2000000; exec ", ONNX_CUDNN_RUN);
  ExpectFails(Run(limited, "shift.onnx --shape 200000000x4 --input zeros'"), 6, "memory");
  ExpectFails(Run(limited, "shift.onnx --shape 50000000x4 --input zeros'"), 6, "memory");
}

// On a host with a GPU, a process that sees none behaves as if there were none.
TEST_F(ProgramsTest, MissingDevicesEndWithFive) {
  const std::string hidden = "CUDA_VISIBLE_DEVICES= ";
  ExpectFails(Run(hidden + ONNX_CUDNN_RUN, "shift.onnx --device cuda"), 5, "CUDA");
  ExpectFails(Run(hidden + ONNX_CUDNN_BENCH, "shift.onnx --device cuda"), 5, "CUDA");
}

TEST_F(ProgramsTest, RunTakesWhatAGpuCanDo) {
  const std::string flags = "shift.onnx --device cpu --streams 2 --no-cuda-graph --on-device";
  const Ended ended = RunTool(flags + " --precision tf32 --allow-nondeterministic --runs 2");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out, "runs as tf32\n")) << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "2 runs")) << ended.out;
  ExpectFails(RunTool("shift.onnx --streams 65"), 2, "option streams: expected 0 to 64, found 65");
  ExpectFails(RunTool("shift.onnx --precision exact"), 1,
              "--precision: expected auto, strict, tf32, fp16 or bf16, found exact");
}

TEST_F(ProgramsTest, OutputsAreWrittenUnderSafeNames) {
  const std::vector<float> x = {1, 3, 5, 7};
  ASSERT_TRUE(WriteNpy(Path("x.npy"), HostTensor::Of<float>(DType::kF32, {1, 4}, x)).ok());
  ASSERT_EQ(RunTool("shift.onnx --input x=x.npy --output-dir out/deep").code, 0);
  const HostTensor y = ReadNpy(Path("out/deep/y_0.npy")).value();
  EXPECT_TRUE(
      SameContent(y, HostTensor::Of<float>(DType::kF32, {1, 4}, std::vector<float>{0, 1, 2, 3})));
}

TEST_F(ProgramsTest, OutputsWithEqualFileNamesAreNumbered) {
  Write("two.onnx", *ModelBytesFromText(R"(
      g (float[2] x) => (float[2] "a/b", float[2] "a:b") <float two = {2}> {
        "a/b" = Neg(x)
        "a:b" = Mul(x, two)
      })"));
  ASSERT_TRUE(
      WriteNpy(Path("x.npy"), HostTensor::Of<float>(DType::kF32, {2}, std::vector<float>{1, 2}))
          .ok());
  const Ended ended = RunTool("two.onnx --input x.npy --output-dir out");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out, "output  a:b f32[2]")) << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "  in out/a_b.npy\n")) << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "  in out/a_b_2.npy\n")) << ended.out;
  const auto holds = [&](const char* file, const std::vector<float>& values) {
    return SameContent(ReadNpy(Path(file)).value(),
                       HostTensor::Of<float>(DType::kF32, {2}, values));
  };
  EXPECT_TRUE(holds("out/a_b.npy", {-1, -2}));
  EXPECT_TRUE(holds("out/a_b_2.npy", {2, 4}));
  ASSERT_EQ(Run("cd out && python3", "-m zipfile -c ../out.npz a_b.npy a_b_2.npy").code, 0);
  EXPECT_EQ(RunTool("two.onnx --input x.npy --verify out.npz").code, 0);
  const Ended json = RunTool("two.onnx --output-dir out --json");
  EXPECT_EQ(nlohmann::json::parse(json.out)["outputs"][1]["file"], "out/a_b_2.npy");
}

TEST_F(ProgramsTest, JsonHoldsTheFieldsOfTheHelp) {
  const Ended ended = RunTool("shift.onnx --json --top 1 --runs 2");
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["inputs"][0]["name"], "x");
  EXPECT_EQ(json["outputs"][0]["top"][0].size(), 1u);
  EXPECT_EQ(json["timing"]["ms"].size(), 2u);
  EXPECT_GE(json["load_ms"], 0);
  EXPECT_EQ(json["tuned_signatures"], 0);
}

TEST_F(ProgramsTest, OptReportsWhatPassesDidAndWritesTheModel) {
  Write("identity.onnx", *ModelBytesFromText(R"(
      g (float[4] x) => (float[4] y) { a = Identity(x)
        y = Relu(a) })"));
  const Ended ended =
      Run(ONNX_CUDNN_OPT, "identity.onnx -O1 -o out.onnx --print-after eliminate-identity");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out, "2 -> 1 nodes")) << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "y = Relu(x)")) << ended.out;
  EXPECT_EQ(LoadModel(Path("out.onnx"))->node_count(), 1);
}

TEST_F(ProgramsTest, OptExplainsAsTextAndJson) {
  const Ended ended =
      Run(ONNX_CUDNN_OPT, "shift.onnx --explain --shape 8x4 --json why.json --partitioner cost");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out, "target   cpu: 1 partitions, 1 launches")) << ended.out;
  const nlohmann::json json = nlohmann::json::parse(*ReadFile(Path("why.json"), 1 << 20));
  EXPECT_EQ(json["partitions"][0]["ops"][0], "Sub");
  EXPECT_EQ(json["partitions"][0]["outputs"][0]["type"], "f32[8,4]");
  EXPECT_EQ(json["partitions"][0]["flops"], 32);
}

// A plan cache of one entry.
std::string PlanCacheText(std::string_view signature, std::string_view version,
                          std::optional<double> joules = std::nullopt) {
  nlohmann::json entry = {{"device", "h200"},
                          {"signature", signature},
                          {"engine", "cudnn"},
                          {"variant", "engine 41"},
                          {"us", 11.5},
                          {"workspace_bytes", 0},
                          {"checked", true},
                          {"date", "2026-11-22"},
                          {"versions", {{"engine", version}, {"driver", ""}, {"cuda", ""}}}};
  if (joules.has_value()) entry["joules"] = *joules;
  const nlohmann::json list = nlohmann::json::array({entry});
  return nlohmann::json({{"format", "onnx-cudnn plan cache 1"}, {"entries", list}}).dump();
}

TEST_F(ProgramsTest, OptKeepsPlanCaches) {
  Write("a.json", PlanCacheText("a", "9.18.0"));
  Write("b.json", PlanCacheText("b", "9.19.0", /*joules=*/0.05884));
  Ended ended =
      Run(ONNX_CUDNN_OPT, "--plan-cache all.json --cache-merge a.json,b.json --cache-list");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out, "h200  cudnn 9.18.0  11.500 us  2026")) << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "9.19.0  11.500 us  0.0588 J  2026")) << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "2 entries")) << ended.out;
  ended = Run(ONNX_CUDNN_OPT, "--plan-cache all.json --cache-prune 9.18.0 --cache-list");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_FALSE(absl::StrContains(ended.out, "cudnn 9.18.0")) << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "1 entries")) << ended.out;
  Write("broken.json", "{}");
  ExpectFails(Run(ONNX_CUDNN_OPT, "--plan-cache broken.json --cache-list"), 2, "broken.json");
  ExpectFails(Run(ONNX_CUDNN_OPT, "--cache-list"), 1, "need --plan-cache");
  ExpectFails(Run(ONNX_CUDNN_OPT, "--tune --plan-cache all.json"), 1, "--tune needs one");
  ExpectFails(Run(ONNX_CUDNN_OPT, "--plan-cache all.json --cache-list --pin none.txt"), 1,
              "--pin needs --explain or --tune");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --tune --plan-cache all.json --pin none.txt"), 2,
              "none.txt");
}

TEST_F(ProgramsTest, TheTuneWorkerReportsErrorsInItsJob) {
  EXPECT_EQ(Run(ONNX_CUDNN_TUNE_WORKER, "--help").code, 0);
  ExpectFails(Run(ONNX_CUDNN_TUNE_WORKER, ""), 1, "expected JOB PLAN_CACHE");
  ExpectFails(Run(ONNX_CUDNN_TUNE_WORKER, "job.json plans.json 60 later"), 1, "expected JOB");
  ExpectFails(Run(ONNX_CUDNN_TUNE_WORKER, "none.json plans.json 60 parallel"), 2, "none.json");
  Write("job.json", "{}");
  const Ended ended = Run(ONNX_CUDNN_TUNE_WORKER, "job.json plans.json 60 parallel");
  ExpectFails(ended, 2, "no job of tuning");
  const nlohmann::json line = nlohmann::json::parse(ended.out);
  EXPECT_TRUE(absl::StrContains(std::string(line["error"]), "no job of tuning")) << ended.out;
}

TEST_F(ProgramsTest, NumbersOfAnInputDecideShapes) {
  Write("reshape.onnx", *ModelBytesFromText(R"(
      g (float[4,4] x, int64[K] shape) => (float[A,B] y) { y = Reshape(x, shape) })"));
  const Ended explained =
      Run(ONNX_CUDNN_OPT, "reshape.onnx --explain --verbose --input shape=8,-1");
  EXPECT_EQ(explained.code, 0) << explained.err;
  EXPECT_TRUE(absl::StrContains(explained.out, "f32[8,2]")) << explained.out;
  const Ended ran = RunTool("reshape.onnx --input shape=2,-1 --runs 1");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.out, "y f32[2,8]")) << ran.out;
  ExpectFails(Run(ONNX_CUDNN_OPT, "reshape.onnx --explain --input shape=8,x"), 2,
              "\"x\" is no i64");
  ExpectFails(Run(ONNX_CUDNN_OPT, "reshape.onnx --input shape=8,-1"), 1, "need --explain");
}

TEST_F(ProgramsTest, PinFilesAreReadWithTheirLines) {
  Write("good.txt", "# the only one\npin host y/0\n");
  Write("bad.txt", "\npin\n");
  Write("lost.txt", "forbid * conv9");
  const std::string explain = "shift.onnx --explain --pin ";
  EXPECT_EQ(Run(ONNX_CUDNN_OPT, explain + "good.txt").code, 0);
  ExpectFails(Run(ONNX_CUDNN_OPT, explain + "bad.txt"), 2, "bad.txt:2: expected an engine");
  ExpectFails(Run(ONNX_CUDNN_OPT, explain + "lost.txt"), 2, "lost.txt:1: the graph has no node");
  ExpectFails(Run(ONNX_CUDNN_OPT, explain + "none.txt"), 2, "none.txt");
}

TEST_F(ProgramsTest, MaxMemoryIsALimit) {
  ExpectFails(RunTool("shift.onnx --max-memory 15"), 6, "the limit is 15");
  EXPECT_EQ(RunTool("shift.onnx --max-memory 16").code, 0);
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --explain --max-memory 15"), 6, "the limit is 15");
  ExpectFails(RunTool("shift.onnx --max-memory -1"), 1, "--max-memory: expected bytes");
}

TEST_F(ProgramsTest, ExampleRuns) {
  Write("relu.onnx", *ModelBytesFromText(R"(
      g (float[N,2] x) => (float[N,2] y) <float[2] b = {3, -4}> { t = Add(x, b)
        y = Relu(t) })"));
  const Ended ended = Run(RUN_MODEL, "relu.onnx");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "3\n0\n");
  EXPECT_EQ(Run(RUN_MODEL, "none.onnx").code, 1);
}

}  // namespace
}  // namespace onnx_cudnn
