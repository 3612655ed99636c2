// What the programs take as arguments, and what they answer to those that they do not take.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/tools/programs_fixture.h"
#include "tools/common/npy.h"
#include "tools/common/plan_flags.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kQuick = " --device cpu --runs 1 --warm-up 0 --seconds 0.01 ";

class ArgumentsTest : public ProgramsTest {
 protected:
  // Of each program, with arguments that its kind of work needs.
  std::vector<Ended> All(std::string_view arguments) {
    return {RunTool(arguments), Run(ONNX_CUDNN_OPT, absl::StrCat(arguments, " --explain")),
            Run(ONNX_CUDNN_BENCH, absl::StrCat(arguments, kQuick))};
  }
  void ExpectSays(const Ended& ended, std::string_view text) {
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(absl::StrContains(ended.out, text)) << text << "\n" << ended.out;
  }
};

TEST_F(ArgumentsTest, EveryProgramTakesEveryFormOfAShape) {
  for (const char* shape :
       {"--shape 2x4", "--shape 2,4", "--shape x=2x4", "--shape x:2x4", "--shapes x:2x4",
        "--shapes=x:2,4", "--shapes 2x4", "--shape N=2", "-f N:2"}) {
    const std::vector<Ended> ended = All(absl::StrCat("shift.onnx ", shape));
    ExpectSays(ended[0], "input   x f32[2,4]");
    ExpectSays(ended[1], "f32[2,4]");
    ASSERT_EQ(ended[2].code, 0) << shape << ": " << ended[2].err;
    EXPECT_EQ(nlohmann::json::parse(ended[2].out)[0]["peak_bytes"], 16 + 2 * 2 * 16) << shape;
  }
  for (const Ended& ended : All("shift.onnx --shape batch=2")) {
    ExpectFails(ended, 2,
                "--shape: no input or symbolic dim \"batch\"; inputs: x; symbolic dims: N");
  }
  ExpectFails(RunTool("shift.onnx --shape N=two"), 2,
              "dim \"N\": expected a number, found \"two\"");
  ExpectFails(RunTool("shift.onnx --shape N=2 --shape N=3"), 2, "dim \"N\" is given twice");
  ExpectFails(RunTool("shift.onnx --shape 2y4"), 2, "expected a shape like 1x3x224x224");
}

TEST_F(ArgumentsTest, BenchTakesModelsOfFixedShape) {
  Write("fixed.onnx", *ModelBytesFromText(R"(
      g (float[3,4] x, float[4] w) => (float[3,4] y) { y = Mul(x, w) })"));
  const auto bench = [&](std::string_view flags) {
    return Run(ONNX_CUDNN_BENCH, absl::StrCat("fixed.onnx", kQuick, flags));
  };
  for (const char* flags : {"", "--batches 3"}) {
    const Ended ended = bench(flags);
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(nlohmann::json::parse(ended.out)[0]["batch"], 3);
  }
  ExpectFails(bench("--batches 2"), 2, "expected a model that takes batch 2, x f32[3,4]");
}

TEST_F(ArgumentsTest, BytesHaveUnits) {
  for (const auto& [text, bytes] :
       std::vector<std::pair<std::string, int64_t>>{{"0", 0},
                                                    {"4096", 4096},
                                                    {"1K", 1024},
                                                    {"1k", 1024},
                                                    {"1.5KiB", 1536},
                                                    {"2KB", 2000},
                                                    {"3M", 3 << 20},
                                                    {"1G", 1 << 30},
                                                    {"1GB", 1000000000},
                                                    {"1T", int64_t{1} << 40},
                                                    {"16B", 16}}) {
    EXPECT_EQ(ParseBytes("--max-memory", text).value(), bytes) << text;
  }
  for (const char* text : {"", "G", "-1", "1X", "1 G", "1e3", "1..2", "9999999T", "0x10"}) {
    EXPECT_EQ(ParseBytes("--f", text).status().message(),
              absl::StrCat("--f: expected bytes, such as 4096, 512M or 1.5GiB, found ", text));
  }
  EXPECT_EQ(RunTool("shift.onnx --max-memory 1K").code, 0);
  ExpectFails(RunTool("shift.onnx --max-memory 15B"), 6, "the limit is 15");
  ExpectFails(RunTool("shift.onnx --max-memory 1X"), 1, "--max-memory: expected bytes");
}

TEST_F(ArgumentsTest, ValuesOfTheWrongTypeAreAnsweredInOneLine) {
  for (const auto& [flags, message] : std::vector<std::pair<std::string, std::string>>{
           {"--runs abc", "--runs: expected a whole number, found abc"},
           {"--runs=1.5", "--runs: expected a whole number, found 1.5"},
           {"--warm-up x", "--warm-up: expected a number, found x"},
           {"--seed -1", "--seed: expected a whole number of 0 or more, found -1"},
           {"--json=maybe", "--json: expected true or false, found maybe"},
           {"--rtol x", "--rtol: expected a number of 0 or more, found x"},
           {"--atol nan", "--atol: expected a number of 0 or more, found nan"},
           {"--top", "--top: expected a value"},
           {"--device 0", "--devices 0 chooses that GPU"}}) {
    ExpectFails(RunTool(absl::StrCat("shift.onnx ", flags)), 1, message);
  }
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --level two"), 1, "--level: expected a whole number");
  ExpectFails(Run(ONNX_CUDNN_BENCH, "shift.onnx --seconds x"), 1, "--seconds: expected a number");
}

TEST_F(ArgumentsTest, ADeviceMayHaveANumber) {
  std::vector<int> devices;
  EXPECT_EQ(ParseDevice("cuda", devices).value(), DeviceChoice::kCuda);
  EXPECT_TRUE(devices.empty());
  EXPECT_EQ(ParseDevice("cuda:1", devices).value(), DeviceChoice::kCuda);
  EXPECT_EQ(devices, std::vector<int>({1}));
  for (const char* text : {"cuda:", "cuda:-1", "cuda:x", "cpu:1"}) {
    devices.clear();
    EXPECT_EQ(ParseDevice(text, devices).status().message(),
              absl::StrCat("--device: expected auto, cpu or cuda, found ", text));
  }
  ExpectFails(RunTool("shift.onnx --device cuda:1 --devices 0"), 1, "expected one of them");
}

TEST_F(ArgumentsTest, UnknownFlagsAreAnswered) {
  ExpectFails(RunTool("shift.onnx --verfy a.npz"), 1,
              "unknown flag --verfy: did you mean --verify?, see --help");
  ExpectFails(RunTool("shift.onnx -t 3"), 1, "unknown flag -t: here: onnx-cudnn-bench MODEL");
  ExpectFails(Run(ONNX_CUDNN_BENCH, "shift.onnx --target h200"), 1,
              "onnx-cudnn-run MODEL --target");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --saveEngine=a"), 1, "there is no engine file");
}

TEST_F(ArgumentsTest, ReadsTheFlagsOfPerfTest) {
  const Ended ended = RunTool("-e cpu -m times -r 3 -I -o 99 -x 1 -f N:2 -s -v shift.onnx");
  ExpectSays(ended, "input   x f32[2,4]");
  ExpectSays(ended, "3 runs");
  const Ended bench = Run(ONNX_CUDNN_BENCH, "-e cpu -t 0.01 -c 2 -r 2 shift.onnx --warm-up 0");
  ASSERT_EQ(bench.code, 0) << bench.err;
  EXPECT_EQ(nlohmann::json::parse(bench.out)[0]["threads"], 2);
}

TEST_F(ArgumentsTest, AReportThatCannotBeWrittenIsAnError) {
  for (const char* program : {ONNX_CUDNN_RUN, ONNX_CUDNN_OPT, ONNX_CUDNN_BENCH}) {
    ExpectFails(Run(program, "--help >/dev/full"), 2, "cannot write to standard output");
  }
  ExpectFails(RunTool("shift.onnx >/dev/full"), 2, "cannot write to standard output");
  for (const char* flags : {"", "--explain", "--print -o out.onnx"}) {
    ExpectFails(Run(ONNX_CUDNN_OPT, absl::StrCat("shift.onnx ", flags, " >/dev/full")), 2,
                "cannot write to standard output");
  }
  const Ended bench = Run(ONNX_CUDNN_BENCH, absl::StrCat("shift.onnx", kQuick, ">/dev/full"));
  EXPECT_EQ(bench.code, 2) << bench.err;
  EXPECT_TRUE(absl::StrContains(bench.err, "cannot write to standard output")) << bench.err;
}

TEST_F(ArgumentsTest, EveryProgramReadsTheTextualForm) {
  Write("text.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[N,4] x) => (float[N,4] y) { y = Neg(x) })");
  for (const Ended& ended : All("text.onnxtxt")) EXPECT_EQ(ended.code, 0) << ended.err;
  Write("broken.onnxtxt", "g (float[N,4] x) => ");
  ExpectFails(RunTool("broken.onnxtxt"), 2, "broken.onnxtxt: ");
  Write("deep.onnxtxt", absl::StrCat("g (", std::string(300000, '('), "float x) => (float y) {}"));
  ExpectFails(RunTool("deep.onnxtxt"), 3, "brackets are nested 300001 deep, the limit is 256");
}

TEST_F(ArgumentsTest, ATargetsProgramRunsOnTheCpu) {
  ExpectSays(RunTool("shift.onnx --target h200 --precision fp16"), "runs as fp16\n");
  ASSERT_EQ(RunTool("shift.onnx --device cpu --precision strict --output-dir d").code, 0);
  ExpectSays(RunTool("shift.onnx --target h200 --precision fp16 --verify d"), "(fp16)\n");
  const Ended checked = RunTool("shift.onnx --target l4 --check-partitions --json");
  ASSERT_EQ(checked.code, 0) << checked.err;
  EXPECT_EQ(nlohmann::json::parse(checked.out)["partitions"][0]["engine"], "kernel");
  ExpectFails(RunTool("shift.onnx --target h900"), 2, "unknown target \"h900\"");
  ExpectFails(RunTool("shift.onnx --target h200 --device cuda"), 2, "target \"h200\"");
}

TEST_F(ArgumentsTest, VerifyNamesItsTolerance) {
  ASSERT_EQ(RunTool("shift.onnx --device cpu --output-dir d").code, 0);
  const std::string verify = "shift.onnx --device cpu --verify d";
  ExpectSays(RunTool(verify), "0 elements beyond rtol 0.001 + atol 1e-05 x largest (f32)\n");
  ExpectSays(RunTool(verify + " --rtol 0.5 --atol 0"), "rtol 0.5 + atol 0 x largest (as given)\n");
  const auto json = nlohmann::json::parse(RunTool(verify + " --precision bf16 --json").out);
  EXPECT_EQ(json["verify"]["outputs"][0]["rtol"], 0x1p-6);
  EXPECT_EQ(json["verify"]["outputs"][0]["tolerance"], "bf16");
  EXPECT_FALSE(json["verify"].contains("rtol"));
}

TEST_F(ArgumentsTest, PinErrorsNameTheFile) {
  Write("bad.txt", "\npin\n");
  Write("lost.txt", "forbid * conv9");
  ExpectFails(RunTool("shift.onnx --pin bad.txt"), 2, "bad.txt:2: expected an engine");
  ExpectFails(RunTool("shift.onnx --pin lost.txt"), 2, "lost.txt:1: the graph has no node");
  ExpectFails(Run(ONNX_CUDNN_BENCH, absl::StrCat("shift.onnx --pin lost.txt", kQuick)), 2,
              "lost.txt:1: the graph has no node");
}

TEST_F(ArgumentsTest, OneRunIsNotSeveral) {
  ExpectSays(RunTool("shift.onnx --runs 1"), "; 1 run after");
  ExpectSays(RunTool("shift.onnx --runs 2"), "; 2 runs after");
}

TEST_F(ArgumentsTest, OptWritesTheOpsetThatTheModelCameWith) {
  Write("old.onnx",
        *ModelBytesFromText("g (float[2,1] x) => (float[2] y) { y = Squeeze<axes = [1]>(x) }", 11));
  const auto opt = [&](std::string_view flags) { return Run(ONNX_CUDNN_OPT, flags); };
  ExpectSays(opt("old.onnx -o out.onnx"), "wrote   out.onnx  opset 11, IR version 6\n");
  ExpectSays(opt("out.onnx -o again.onnx"), "opset 11, IR version 6\n");
  ExpectSays(opt("old.onnx -o out.onnx --opset 17"), "opset 17, IR version 8\n");
  Write("new.onnx",
        *ModelBytesFromText("g (float[2] x) => (float[2] y) { [\"act\"] y = Gelu(x) }", 20));
  ExpectSays(opt("new.onnx -o out.onnx"), "opset 20, IR version 9\n");
  const Ended refused = opt("new.onnx -o out.onnx --opset 13");
  ExpectFails(
      refused, 3,
      "out.onnx: cannot be written in opset 13, needs 20: node \"act\" (Gelu): opset 19 has "
      "no such op");
  ExpectFails(opt("old.onnx --opset 13"), 1, "--opset needs --output");
  ExpectFails(opt("old.onnx -o out.onnx --opset 29"), 1, "--opset: expected 6 to 28, found 29");
  ExpectFails(RunTool("new.onnx --precision strict --shape 3"), 2, "expected x f32[2]");
}

TEST_F(ArgumentsTest, ErrorsNameTheModelsOpset) {
  Write("decoder.onnx",
        *ModelBytesFromText("g (uint8[4] x) => (uint8[H,W,3] y) { y = ImageDecoder(x) }", 20));
  ExpectFails(RunTool("decoder.onnx"), 3, "ImageDecoder (opset 20) on u8");
}

}  // namespace
}  // namespace onnx_cudnn
