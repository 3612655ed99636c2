// onnx-cudnn-opt -o NAME.ocp, and the programs that load the result.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/parts_file.h"
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

class CompileProgramTest : public ProgramsTest {
 protected:
  void ExpectSays(const Ended& ended, std::string_view text) {
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(absl::StrContains(absl::StrCat(ended.out, ended.err), text))
        << ended.out << ended.err;
  }
};

TEST_F(CompileProgramTest, WritesAModelThatEveryProgramLoads) {
  ExpectSays(Run(ONNX_CUDNN_OPT, "shift.onnx -o shift.ocp"), "wrote   shift.ocp  for cpu, ");
  const std::string run = "--device cpu --shape 2x4 --output-dir ";
  EXPECT_EQ(RunTool(absl::StrCat("shift.onnx ", run, "a")).code, 0);
  EXPECT_EQ(RunTool(absl::StrCat("shift.ocp ", run, "b")).code, 0);
  const Ended same = Run("diff", "-r a b");
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_EQ(RunTool("shift.ocp --device cpu --check").code, 0);
  EXPECT_EQ(Run(ONNX_CUDNN_OPT, "shift.ocp --explain --target h200").code, 0);
  EXPECT_EQ(
      Run(ONNX_CUDNN_BENCH, "shift.ocp --device cpu --runs 1 --warm-up 0 --seconds 0.01").code, 0);
}

TEST_F(CompileProgramTest, SaysWhatAFileForAGpuLacks) {
  const Ended ended = Run(ONNX_CUDNN_OPT, "shift.onnx -o shift.ocp --target a10 --shape 2x4");
  ExpectSays(ended, "for a10, ");
  ExpectSays(ended, ": 0 plans and the partitions, 0 forms of weights\n");
  ExpectSays(ended, "note    no plans: --plan-cache gives them\n");
  ExpectSays(ended, "note    no forms of weights: this host");
  const Ended elsewhere = RunTool("shift.ocp --device cpu --shape 2x4");
  ExpectSays(elsewhere, "compiled for a10, here is cpu: planned again from its model");
}

// The references run the model in the file, which is nothing to warn of.
TEST_F(CompileProgramTest, VerifyOfACompiledModelWarnsOfNothing) {
  EXPECT_EQ(Run(ONNX_CUDNN_OPT, "shift.onnx -o shift.ocp").code, 0);
  const Ended ended = RunTool("shift.ocp --device cpu --shape 2x4 --verify reference");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_TRUE(absl::StrContains(ended.out, "verify  y/0  agrees")) << ended.out;
  EXPECT_TRUE(absl::StrContains(RunTool("shift.ocp --device cpu --shape 2x4 --level 1").err,
                                "compiled with optimization level 2, here 1 is asked for"));
}

// A start on the CPU reads the optimized model alone.
TEST_F(CompileProgramTest, CheckReadsThePartsThatAStartDoesNot) {
  EXPECT_EQ(Run(ONNX_CUDNN_OPT, "shift.onnx -o shift.ocp").code, 0);
  ExpectSays(Run(ONNX_CUDNN_OPT, "shift.ocp --check"), "checked shift.ocp  for cpu, by version ");
  std::string damaged = *ReadFile(Path("shift.ocp"), 1 << 20);
  {
    const absl::StatusOr<File> file = File::Open(Path("shift.ocp"));
    const auto parts = PartsFile::Open(*file);
    ASSERT_TRUE(parts.ok()) << parts.status();
    const size_t model = damaged.find((*parts)->Read("model").value());
    ASSERT_NE(model, damaged.npos);
    damaged[model + 5] ^= 1;
  }
  Write("damaged.ocp", damaged);
  EXPECT_EQ(RunTool("damaged.ocp --device cpu --shape 2x4").code, 0);
  ExpectFails(Run(ONNX_CUDNN_OPT, "damaged.ocp --check"), 2,
              "damaged.ocp: is damaged: the checksum of part \"model\" differs");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --check"), 2, "shift.onnx: is no compiled model");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.ocp --check --explain"), 1, "--check takes no --explain");
}

TEST_F(CompileProgramTest, WrongUsageAndFilesEnd) {
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx -o shift.ocp --opset 17"), 1,
              "is written without --explain, --opset and --passes");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx -o shift.ocp --report why.html"), 1,
              "--report, --verbose, --pin, --input, --shape and --shape-buckets need --explain");
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx -o shift.ocp --shape 2x5"), 2, "shift.onnx: ");
  EXPECT_EQ(Run(ONNX_CUDNN_OPT, "shift.onnx -o shift.ocp").code, 0);
  const std::string whole = *ReadFile(Path("shift.ocp"), 1 << 20);
  Write("short.ocp", whole.substr(0, whole.size() - 1));
  ExpectFails(RunTool("short.ocp --device cpu"), 2, "short.ocp: has ");
  std::string newer = whole;
  newer[8] = 2;
  Write("newer.ocp", newer);
  ExpectFails(RunTool("newer.ocp --device cpu"), 3,
              "newer.ocp: has format 2, this version reads format 1");
}

}  // namespace
}  // namespace onnx_cudnn
