// The examples as programs, on tiny models, and what they print.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

class ExamplesTest : public ProgramsTest {
 protected:
  void WriteModel(std::string_view name, std::string_view text) {
    Write(name, *ModelBytesFromText(text));
  }
  // "P6", 2 x 1 pixels.
  void WriteImage(std::string_view name, std::string_view rgb) {
    Write(name, absl::StrCat("P6\n2 1\n255\n", rgb));
  }
};

// The means of the channels.
constexpr std::string_view kMeans = R"(
    g (float[N,3,4,4] x) => (float[N,3] y) {
      m = GlobalAveragePool(x)
      y = Flatten(m)
    })";

TEST_F(ExamplesTest, ClassifyNamesTheBestClasses) {
  WriteModel("means.onnx", kMeans);
  WriteImage("photo.ppm", std::string_view("\xff\x33\0\xff\x33\xff", 6));
  Write("labels", "red\ngreen\nblue\n");
  const Ended named = Run(EXAMPLE_CLASSIFY, "means.onnx photo.ppm labels");
  EXPECT_EQ(named.out, "1 red\n0.5 blue\n0.2 green\n") << named.err;
  EXPECT_EQ(named.code, 0);
  EXPECT_EQ(Run(EXAMPLE_CLASSIFY, "means.onnx photo.ppm").out, "1 0\n0.5 2\n0.2 1\n");
}

TEST_F(ExamplesTest, ClassifySaysWhatItExpects) {
  WriteModel("means.onnx", kMeans);
  Write("photo.ppm", "P5\n2 1\n255\nab");
  WriteImage("short.ppm", "abc");
  for (const char* image : {"photo.ppm", "short.ppm", "none.ppm"}) {
    ExpectFails(Run(EXAMPLE_CLASSIFY, absl::StrCat("means.onnx ", image)), 1,
                "expected a PPM image (P6, 255)");
  }
  ExpectFails(Run(EXAMPLE_CLASSIFY, "shift.onnx photo.ppm"), 1,
              "expected an input [N,3,H,W], found x f32[N,4]");
}

TEST_F(ExamplesTest, ServeBuildsOneProgramForFourThreads) {
  WriteModel("mixed.onnx", R"(
      g (float16[N,4] x, uint8[N,4] pixels) => (float[N,4] y) <float most = {255}> {
        f = Cast<to = 1>(x)
        p = Cast<to = 1>(pixels)
        share = Div(p, most)
        y = Add(f, share)
      })");
  const Ended ended = Run(EXAMPLE_SERVE, "mixed.onnx");
  EXPECT_EQ(ended.out,
            "thread 0: 1.000000\nthread 1: 1.200000\nthread 2: 1.400000\nthread 3: 1.600000\n"
            "100 requests, Programs built: 1\n")
      << ended.err;
  EXPECT_EQ(ended.code, 0);
  ExpectFails(Run(EXAMPLE_SERVE, "shift.onnx"), 1, "expected inputs of u8 and f16, found x f32");
}

TEST_F(ExamplesTest, BatchJoinsTheRequestsOfThreads) {
  WriteModel("double.onnx", "g (float[N,2] x) => (float[N,2] y) { y = Add(x, x) }");
  const Ended ended = Run(EXAMPLE_BATCH, "double.onnx");
  for (int t = 0; t < 16; ++t) {
    EXPECT_TRUE(absl::StrContains(ended.out, absl::StrCat("thread ", t, ": ", 2 * t, ".000000\n")))
        << ended.out << ended.err;
  }
  const size_t runs = ended.out.find("400 requests, Runs: ");
  ASSERT_NE(runs, std::string::npos) << ended.out;
  EXPECT_LT(std::stoi(ended.out.substr(runs + 20)), 400);
  WriteModel("fixed.onnx", "g (float[3,2] x) => (float[3,2] y) { y = Add(x, x) }");
  ExpectFails(Run(EXAMPLE_BATCH, "fixed.onnx"), 1, "input x f32[3,2] has no batch axis");
}

TEST_F(ExamplesTest, DynamicBatchBuildsAProgramPerPowerOfTwo) {
  WriteModel("double.onnx", "g (float[N,2] x) => (float[N,2] y) { y = Add(x, x) }");
  const Ended ended = Run(EXAMPLE_DYNAMIC_BATCH, "double.onnx");
  EXPECT_EQ(ended.out,
            "1 requests in a batch of 1: the last starts with 2\n"
            "3 requests in a batch of 4: the last starts with 6\n"
            "2 requests in a batch of 2: the last starts with 4\n"
            "5 requests in a batch of 8: the last starts with 10\n"
            "7 requests in a batch of 8: the last starts with 14\n"
            "6 requests in a batch of 8: the last starts with 12\n"
            "4 requests in a batch of 4: the last starts with 8\n"
            "8 requests in a batch of 8: the last starts with 16\n"
            "Programs built: 4\n")
      << ended.err;
  EXPECT_EQ(ended.code, 0);
}

TEST_F(ExamplesTest, BindCudaRunsOrSaysWhyNot) {
  WriteModel("shifted.onnx", R"(
      g (float[N,4] x) => (float[N,4] y) <float two = {2}> { y = Add(x, two) })");
  const Ended ended = Run(EXAMPLE_BIND_CUDA, "shifted.onnx");
  EXPECT_EQ(ended.code, 0) << ended.err;
  if (ended.out == "the first element is 3\n") return;
  EXPECT_TRUE(absl::StartsWith(ended.out, "skipped: ")) << ended.out;
  GTEST_SKIP() << ended.out;
}

TEST_F(ExamplesTest, EmbedShowsProgressAndEndsInTime) {
  const Ended ended = Run(EXAMPLE_EMBED, "shift.onnx 60000");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_TRUE(absl::StrContains(ended.out, "loading: done\n")) << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "optimizing: done\n")) << ended.out;
  EXPECT_TRUE(absl::StrContains(ended.out, "building: done\n")) << ended.out;
  EXPECT_TRUE(absl::EndsWith(ended.out, "the run ended in time\n")) << ended.out;
}

// A Run of minutes.
TEST_F(ExamplesTest, EmbedEndsARunThatTakesTooLong) {
  std::string text = "g (float[2048,2048] x) => (float[2048,2048] y) {\n  v0 = MatMul(x, x)\n";
  constexpr int kSteps = 400;
  for (int i = 0; i < kSteps; ++i) {
    absl::StrAppend(&text, "  v", i + 1, " = MatMul(v", i, ", x)\n");
  }
  absl::StrAppend(&text, "  y = Neg(v", kSteps, ")\n}");
  WriteModel("long.onnx", text);
  const Ended ended = Run(EXAMPLE_EMBED, "long.onnx 100");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::EndsWith(ended.out, "the run took too long\n")) << ended.out;
}

}  // namespace
}  // namespace onnx_cudnn
