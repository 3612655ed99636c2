// The tools in processes that are short of address space or of threads, and plans for which a
// device is too small.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

// No stack of 100 GB has room in 8 GB, so that no thread starts.
constexpr char kNoThreads[] = "-s 100000000 && ulimit -v 8000000";

class LimitsTest : public ProgramsTest {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer takes address space of its own";
#endif
    ProgramsTest::SetUp();
    Write("product.onnx", *ModelBytesFromText(R"(
        g (float[256,256] x) => (float[256,256] y) { y = MatMul(x, x) })"));
  }
  // With limits of the shell's ulimit; 124: it did not end.
  Ended RunLimited(std::string_view limits, std::string_view program, std::string_view arguments) {
    return Run(absl::StrCat("sh -c 'ulimit ", limits, " && exec timeout 60 ", program),
               absl::StrCat(arguments, "'"));
  }
};

TEST_F(LimitsTest, HelpNeedsNoThreadsAndLittleAddressSpace) {
  for (const char* program : {ONNX_CUDNN_RUN, ONNX_CUDNN_OPT, ONNX_CUDNN_BENCH}) {
    for (const char* limits : {"-v 200000", "-v 400000", kNoThreads}) {
      const Ended ended = RunLimited(limits, program, "--help");
      EXPECT_EQ(ended.code, 0) << limits << ": " << ended.err;
      EXPECT_EQ(ended.err, "") << limits;
    }
  }
}

TEST_F(LimitsTest, AddressSpaceIsEnoughOrTheToolSaysThatItIsNot) {
  // Below what its files take, the system cannot even load it. A build without CUDA runs in 200 MB.
  const std::filesystem::path program = ONNX_CUDNN_RUN;
  const std::filesystem::path library =
      program.parent_path().parent_path() / "lib/libonnx_cudnn.so";
  const auto file_kilobytes = static_cast<int64_t>(
      (std::filesystem::file_size(program) + std::filesystem::file_size(library)) / 1024);
  int done = 0, exhausted = 0;
  for (int64_t kilobytes = file_kilobytes + 25'000; kilobytes <= 800'000; kilobytes += 50'000) {
    const Ended ended = RunLimited(absl::StrCat("-v ", kilobytes), ONNX_CUDNN_RUN,
                                   "product.onnx --device cpu --runs 3");
    if (ended.code == 0) {
      EXPECT_EQ(ended.err, "") << kilobytes;
      ++done;
    } else {
      ExpectFails(ended, 6, "(ulimit -v)");
      ++exhausted;
    }
  }
  EXPECT_GT(done, 0);
  EXPECT_GT(exhausted, 0);
}

TEST_F(LimitsTest, NamesTheLimitOfTheProcess) {
  const Ended ended = RunLimited("-v 800000", ONNX_CUDNN_RUN,
                                 "shift.onnx --device cpu --shape 30000000x4 --input zeros");
  ExpectFails(ended, 6, "this process may have 819200000 in all (ulimit -v)");
}

TEST_F(LimitsTest, RunsOnOneThreadWhereNoOtherStarts) {
  const Ended ended = RunLimited(kNoThreads, ONNX_CUDNN_RUN, "product.onnx --device cpu");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
}

TEST_F(LimitsTest, ThreadsThatWereAskedForAndDoNotStartEndWithSix) {
  const Ended ended =
      RunLimited(kNoThreads, ONNX_CUDNN_BENCH,
                 "shift.onnx --device cpu --threads 2 --runs 1 --warm-up 0 --seconds 0.1");
  ExpectFails(ended, 6, "the system starts no more threads for this process");
}

TEST_F(LimitsTest, ExplainWarnsWhereTheTargetHasLessMemoryThanThePlanNeeds) {
  const auto explain = [&](std::string_view shape) {
    return Run(ONNX_CUDNN_OPT, absl::StrCat("shift.onnx --explain --target h200 --shape ", shape,
                                            " --json why.json"));
  };
  const std::string warning = "\nwarning  weights, arena, inputs and outputs are 4.40 TB, h200";
  const Ended large = explain("137500000000x4");
  EXPECT_EQ(large.code, 0) << large.err;
  EXPECT_TRUE(absl::StrContains(large.out, warning)) << large.out;
  EXPECT_TRUE(absl::StrContains(*ReadFile(Path("why.json"), 1 << 20), "\"fits\": false"));
  const Ended small = explain("1x4");
  EXPECT_EQ(small.code, 0) << small.err;
  EXPECT_FALSE(absl::StrContains(small.out, "warning")) << small.out;
  EXPECT_TRUE(absl::StrContains(*ReadFile(Path("why.json"), 1 << 20), "\"fits\": true"));
}

}  // namespace
}  // namespace onnx_cudnn
