// --doctor, --check and --version of the programs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/tools/programs_fixture.h"
#include "tools/common/check_report.h"
#include "tools/common/doctor_report.h"

namespace onnx_cudnn {
namespace {

class HabitsTest : public ProgramsTest {
 protected:
  void SetUp() override {
    ProgramsTest::SetUp();
    Write("refused.onnx",
          *ModelBytesFromText(R"(<ir_version: 10, opset_import: ["" : 21, "com.x" : 1]>
        g (float[N,4] x) => (float[N,4] y, float[N,4] z, int64[2,n] i) {
          y = com.x.Foo(x)
          z = com.x.Foo(y)
          i = NonZero(x)
          r = Relu(x)
        })"));
    Write("invalid.onnx", *ModelBytesFromText(R"(
        g (float[4] x) => (float[4] y) { y = NoSuchOp(x) })"));
  }
};

TEST_F(HabitsTest, CheckTellsWhereEveryNodeRuns) {
  const Ended ended = RunTool("shift.onnx --check --device cpu --shape 2x4");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out,
            "model   shift.onnx\n"
            "target  cpu\n"
            "input   x f32[2,4]\n"
            "nodes   1 in the file; 1 run after the rewrites: 1 host\n"
            "runs    yes: every node runs\n");
}

TEST_F(HabitsTest, CheckListsEveryNodeThatDoesNotRun) {
  const Ended ended = RunTool("refused.onnx --check --device cpu");
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.err, "");
  for (const char* text :
       {"refused    1  com.x.Foo (opset 1) on f32: the domain is not taken\n              y\n",
        "              z\n", "runs    no: refused 2, open 0\n"}) {
    EXPECT_TRUE(absl::StrContains(ended.out, text)) << text << "\n" << ended.out;
  }
  const auto json = nlohmann::json::parse(RunTool("refused.onnx --check --device cpu --json").out);
  EXPECT_EQ(json["runs"], false);
  ASSERT_EQ(json["refused"].size(), 2u);
  EXPECT_EQ(json["refused"][0]["node"], "y");
  EXPECT_EQ(json["refused"][0]["invalid"], false);
  EXPECT_EQ(json["inputs"][0]["type"], "f32[1,4]");
  EXPECT_GT(json["ms"], 0);
}

TEST_F(HabitsTest, CheckOfAnInvalidModelEndsWithTwo) {
  const Ended ended = RunTool("invalid.onnx --check");
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(absl::StrContains(ended.out, "invalid    1  NoSuchOp")) << ended.out;
  Write("no.onnx", "no model");
  ExpectFails(RunTool("no.onnx --check"), 2, "no.onnx");
  ExpectFails(RunTool("none.onnx --check"), 2, "none.onnx");
}

TEST_F(HabitsTest, CheckReadsValuesThatDecideShapes) {
  Write("reshape.onnx", *ModelBytesFromText(R"(
      g (float[6] x, int64[2] s) => (float[a,b] y) { y = Reshape(x, s) })"));
  EXPECT_EQ(RunTool("reshape.onnx --check --device cpu").code, 3);
  const Ended ended = RunTool("reshape.onnx --check --device cpu --input s=2,3");
  EXPECT_EQ(ended.code, 0) << ended.out;
}

TEST_F(HabitsTest, DoctorEndsWithFiveIfAGpuRunLacksSomething) {
  const Ended json_ended = RunTool("--doctor --json");
  const auto json = nlohmann::json::parse(json_ended.out);
  EXPECT_EQ(json_ended.code, json["gpu_runs"] ? 0 : 5) << json_ended.out;
  for (const char* key : {"build", "driver", "gpus", "libraries", "tune_worker", "threads",
                          "memory_bytes", "findings"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_TRUE(absl::EndsWith(std::string(json["tune_worker"]), "/onnx-cudnn-tune-worker"));
  const Ended ended = RunTool("--doctor");
  EXPECT_EQ(ended.code, json_ended.code);
  EXPECT_EQ(ended.err, "");
  EXPECT_TRUE(absl::StrContains(
      ended.out, json["gpu_runs"] ? "models run on the GPU\n" : "models run on the CPU"))
      << ended.out;
}

TEST_F(HabitsTest, DoctorNamesWhatIsMissing) {
  DoctorReport report;
  report.findings.push_back({.what = "needs cuDNN 9: found none",
                             .remedy = "pip install nvidia-cudnn-cu13\nor set X",
                             .without = "slower"});
  report.libraries = {{.name = "cuDNN", .version = "", .file = ""},
                      {.name = "NVRTC", .version = "13.0", .file = "/lib/libnvrtc.so.13"}};
  report.gpus = {{.ordinal = 0,
                  .product = "NVIDIA H200",
                  .compute_capability = 90,
                  .memory_bytes = 150'000'000'000}};
  const std::string text = DoctorText(report);
  for (const char* line :
       {"driver    none\n", "GPU 0     NVIDIA H200, compute capability 9.0, 150.0 GB\n",
        "missing   needs cuDNN 9: found none\n", "  bring it  pip install nvidia-cudnn-cu13\n",
        "            or set X\n", "  without   slower\n", "/lib/libnvrtc.so.13\n"}) {
    EXPECT_TRUE(absl::StrContains(text, line)) << line << "\n" << text;
  }
  EXPECT_EQ(ExitCodeOf(report), kExitNoDevice);
  report.gpu_runs = true;
  EXPECT_EQ(ExitCodeOf(report), kExitDone);
}

TEST_F(HabitsTest, VersionHasTheFactsOfTheBuild) {
  const Ended ended = RunTool("--version");
  EXPECT_EQ(ended.code, 0);
  for (const char* text : {"onnx-cudnn 0.", "\ncommit    ", "\ncompiler  ", "\nCUDA      ",
                           "\nONNX      ", ", opsets 1 to 28\n"}) {
    EXPECT_TRUE(absl::StrContains(ended.out, text)) << text << "\n" << ended.out;
  }
}

TEST_F(HabitsTest, AFullDiskIsAnError) {
  for (const char* arguments : {"--help", "--version", "--print-man", "--print-completion=bash",
                                "--doctor", "shift.onnx --check --device cpu"}) {
    const Ended ended = RunTool(absl::StrCat(arguments, " >/dev/full"));
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_TRUE(absl::StrContains(ended.err, "standard output")) << arguments << ended.err;
  }
}

}  // namespace
}  // namespace onnx_cudnn
