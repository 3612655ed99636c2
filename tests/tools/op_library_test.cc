// --op-library of the programs.
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

constexpr char kModel[] = R"(<ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>
    g (float[2] x) => (float[2] y) {
      t = Relu(x)
      y = com.example.ScaledSwish<scale = 3.0>(t)
    })";
constexpr char kLibrary[] = " --op-library " SCALED_SWISH;

class OpLibraryProgramsTest : public ProgramsTest {
 protected:
  void SetUp() override {
    ProgramsTest::SetUp();
    Write("swish.onnx", *ModelBytesFromText(kModel));
  }
};

TEST_F(OpLibraryProgramsTest, RunTakesOpsOfLibraries) {
  ExpectFails(RunTool("swish.onnx --device cpu --runs 1"), 3, "com.example.ScaledSwish");
  const Ended ended = RunTool(absl::StrCat("swish.onnx --device cpu --runs 1", kLibrary));
  EXPECT_EQ(ended.code, 0) << ended.err;
  ExpectFails(RunTool("swish.onnx --op-library none.so"), 2, "op library none.so: no such file");
}

TEST_F(OpLibraryProgramsTest, OptExplainsAndWritesThem) {
  const Ended ended = Run(ONNX_CUDNN_OPT, absl::StrCat("swish.onnx --explain --target h200 ",
                                                       "--verbose -o out.onnx", kLibrary));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.out, ONNX_CUDNN_HAS_CUDA ? "custom" : "host")) << ended.out;
  const Ended written = RunTool(absl::StrCat("out.onnx --device cpu --runs 1", kLibrary));
  EXPECT_EQ(written.code, 0) << written.err;
}

TEST_F(OpLibraryProgramsTest, BenchTakesThem) {
  const Ended ended =
      Run(ONNX_CUDNN_BENCH, absl::StrCat("swish.onnx --device cpu --runs 2 --seconds 0", kLibrary));
  EXPECT_EQ(ended.code, 0) << ended.err;
}

}  // namespace
}  // namespace onnx_cudnn
