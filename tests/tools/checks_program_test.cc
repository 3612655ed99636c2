// onnx-cudnn-run as a process: what it says of wrong and of slow partitions.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file.h"
#include "runtime/import/onnx_loader.h"
#include "tests/support/graph_text.h"
#include "tests/tools/programs_fixture.h"
#include "tools/common/npy.h"

namespace onnx_cudnn {
namespace {

class ChecksProgramTest : public ProgramsTest {};

TEST_F(ChecksProgramTest, ChecksPartitionsAgainstTheirOps) {
  const Ended ended = RunTool("shift.onnx --shape 2x4 --check-partitions");
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const char* text :
       {"partitions, the worst first", "runs the references themselves", "ok", "tolerance"}) {
    EXPECT_TRUE(absl::StrContains(ended.out, text)) << text << "\n" << ended.out;
  }
  EXPECT_FALSE(absl::StrContains(ended.out, "latency")) << ended.out;
  const auto json =
      nlohmann::json::parse(RunTool("shift.onnx --shape 2x4 --check-partitions --json").out);
  ASSERT_FALSE(json["partitions"].empty());
  EXPECT_TRUE(json["partitions"][0]["ok"]);
  EXPECT_EQ(json["partitions"][0]["largest_ulps"], 0);
  EXPECT_EQ(json["partitions"][0]["overflowed"], 0);
  EXPECT_FALSE(json.contains("first_wrong"));
}

TEST_F(ChecksProgramTest, ProfilesTheStepsOfItsRuns) {
  const Ended ended = RunTool("shift.onnx --shape 2x4 --device cpu --profile --trace t.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const char* text : {"profile 1 steps take ", "medians of 10 runs", "Sub: y/0",
                           "trace   in t.json", "latency"}) {
    EXPECT_TRUE(absl::StrContains(ended.out, text)) << text << "\n" << ended.out;
  }
  std::set<std::string> names;
  const auto trace = nlohmann::json::parse(*ReadFile(Path("t.json"), 1 << 20));
  for (const auto& event : trace["traceEvents"]) names.insert(event["name"]);
  for (const char* name : {"read the model", "optimize", "bind and fold", "partition", "compile",
                           "plan", "run", "launch", "y/0"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  const auto json = nlohmann::json::parse(
      RunTool("shift.onnx --shape 2x4 --device cpu --profile --profile-by op --runs 12 --json")
          .out);
  EXPECT_EQ(json["profile"]["runs"], 12);
  EXPECT_EQ(json["profile"]["steps"][0]["engine"], "host");
  EXPECT_EQ(json["profile"]["groups"][0]["name"], "Sub");
  ExpectFails(RunTool("shift.onnx --profile --profile-by node"), 1, "expected step, op or layer");
}

TEST_F(ChecksProgramTest, VerifyEndsWithFourWhereAnOutputDiffers) {
  const std::vector<float> x = {1, 2, 3, 4}, zeros = {0, 0, 0, 0}, ones = {1, 1, 1, 1};
  const auto write = [&](const char* name, const std::vector<float>& values) {
    ASSERT_TRUE(WriteNpy(Path(name), HostTensor::Of<float>(DType::kF32, {1, 4}, values)).ok());
  };
  write("x.npy", x);
  write("y_0.npy", zeros);
  ASSERT_EQ(Run("python3", "-m zipfile -c good.npz x.npy y_0.npy").code, 0);
  write("y_0.npy", ones);
  ASSERT_EQ(Run("python3", "-m zipfile -c bad.npz x.npy y_0.npy").code, 0);
  const Ended good = RunTool("shift.onnx --verify good.npz");
  EXPECT_EQ(good.code, 0) << good.err << good.out;
  EXPECT_TRUE(absl::StrContains(good.out, "verify  y/0  agrees")) << good.out;
  EXPECT_EQ(RunTool("shift.onnx --verify good.npz --partitioner cost").code, 0);
  const Ended bad = RunTool("shift.onnx --verify bad.npz");
  ExpectFails(bad, 4, "differs");
  EXPECT_TRUE(
      absl::StrContains(bad.out, "DIFFERS  largest difference 1, largest expected 1, relative 1,"))
      << bad.out;
}

TEST_F(ChecksProgramTest, VerifiesRandomInputsAgainstTheReferences) {
  const Ended ended = RunTool("shift.onnx --shape 2x4 --target h200 --verify reference");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out, "verify  y/0  agrees")) << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "0 ulp, cosine 1.0")) << ended.out;
}

// 31571: the bits of 60000 in f16. The references of such a model overflow as the run does.
constexpr std::string_view kLargeF16 = R"(
    g (float16[2,8] x) => (float16[2,2] y)
    <float16[8,2] w = {31571, 31571, 31571, 31571, 31571, 31571, 31571, 31571,
                       31571, 31571, 31571, 31571, 31571, 31571, 31571, 31571}> {)";

TEST_F(ChecksProgramTest, AModelOfF16ThatOverflowsIsSaid) {
  Write("f16.onnx", *ModelBytesFromText(absl::StrCat(kLargeF16, "y = MatMul(x, w) }")));
  const std::string warning =
      "warning output y: 4 elements are NaN or infinite; first in partition 0, MatMul: y, finite "
      "in f32\n";
  for (const char* flags : {"", " --verify reference"}) {
    const Ended ended = RunTool(absl::StrCat("f16.onnx --device cpu", flags));
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(absl::StrContains(ended.out, warning)) << ended.out;
  }
  Write("log.onnx", *ModelBytesFromText("g (float16[2] x) => (float16[2] y) { y = Log(x) }"));
  const Ended right = RunTool("log.onnx --device cpu --input zeros --verify reference");
  EXPECT_TRUE(absl::StrContains(right.out, "NaN or infinite 2")) << right.out;
  EXPECT_FALSE(absl::StrContains(right.out, "warning")) << right.out;  // f32 is infinite, too
}

TEST_F(ChecksProgramTest, VerifyFindsAnOverflowThatOutputsHide) {
  Write("hidden.onnx",
        *ModelBytesFromText(absl::StrCat(kLargeF16, "m = MatMul(x, w) y = Sigmoid(m) }")));
  EXPECT_FALSE(absl::StrContains(RunTool("hidden.onnx --device cpu").out, "warning"));
  const Ended ended = RunTool("hidden.onnx --device cpu --verify reference");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out,
                                "warning outputs are finite, but 4 elements within the model are "
                                "NaN or infinite, and finite in f32: first in partition 0, "
                                "MatMul: m\n"))
      << ended.out;
}

TEST_F(ChecksProgramTest, BisectWritesAModelThatShowsTheFault) {
  Write("mlp.onnx", *ModelBytesFromText(R"(
      g (float[2,4] x) => (float[2,2] y)
      <float[4,2] w = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}> {
        a = Relu(x)
        b = Exp(a)
        m = MatMul(b, w)
        y = Tanh(m) })"));
  // bf16 is more than these tolerances allow.
  const std::string flags = " --target h200 --precision bf16 --rtol 1e-6 --atol 1e-6";
  const Ended found = RunTool(absl::StrCat("mlp.onnx --bisect out", flags));
  EXPECT_EQ(found.code, 4) << found.err;
  EXPECT_TRUE(absl::StrContains(found.out, "pass    lower-precision-bf16: without it"))
      << found.out;
  EXPECT_TRUE(absl::StrContains(found.out, "reduced 1 nodes: out/reduced.onnx")) << found.out;
  EXPECT_TRUE(absl::StrContains(found.out, "MatMul: m")) << found.out;
  const std::string again = "out/reduced.onnx --verify out/reduced.npz";
  EXPECT_EQ(RunTool(absl::StrCat(again, flags)).code, 4);
  EXPECT_EQ(RunTool(absl::StrCat(again, " --device cpu")).code, 0);
  const auto json =
      nlohmann::json::parse(RunTool(absl::StrCat("mlp.onnx --bisect out --json", flags)).out);
  EXPECT_EQ(json["pass"], "lower-precision-bf16");
  const Ended right = RunTool("mlp.onnx --bisect none");
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_TRUE(absl::StrContains(right.out, "nothing to find")) << right.out;
}

// A part of the model may lack the node that stays in f32: its runs count all the same.
TEST_F(ChecksProgramTest, BisectKeepsThoseNodesInF32ThatAPartHas) {
  Write("two.onnx", *ModelBytesFromText(R"(
      g (float[1,4] x) => (float[1,2] y)
      <float[4,2] w = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}, float[2,2] v = {0.1, 0.2, 0.3, 0.4}> {
        a = MatMul(x, w)
        b = Sqrt(a)
        y = MatMul(b, v) })"));
  const std::string bisect =
      "two.onnx --bisect out --target h200 --precision bf16 --rtol 1e-6 --atol 1e-6 --keep-f32 ";
  const Ended last = RunTool(absl::StrCat(bisect, "a"));
  EXPECT_EQ(last.code, 4) << last.err;
  EXPECT_TRUE(absl::StrContains(last.out, "reduced 1 nodes")) << last.out;
  EXPECT_TRUE(absl::StrContains(last.out, "MatMul: y")) << last.out;
  EXPECT_FALSE(absl::StrContains(last.out, "--keep-f32")) << last.out;
  const Ended right = RunTool(absl::StrCat(bisect, "a,y"));
  EXPECT_EQ(right.code, 0) << right.err << right.out;
  Write("pins.txt", "pin host y\n");
  ExpectFails(RunTool(absl::StrCat(bisect, "a --pin pins.txt")), 2, "--bisect takes no --pin");
}

}  // namespace
}  // namespace onnx_cudnn
