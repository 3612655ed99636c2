// Runs the tools as processes, in a folder of the test.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {

struct Ended {
  int code;
  std::string out, err;
};

class ProgramsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(testing::TempDir(), "/programs_test.",
                           testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Write("shift.onnx", *ModelBytesFromText(R"(
        g (float[N,4] x) => (float[N,4] "y/0") <float[4] shift = {1, 2, 3, 4}> {
          "y/0" = Sub(x, shift)
        })"));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(std::string_view name) const { return absl::StrCat(folder_, "/", name); }
  void Write(std::string_view name, std::string_view bytes) {
    ASSERT_TRUE(WriteFile(Path(name), bytes).ok());
  }
  // Runs a shell command in the folder.
  Ended Run(std::string_view program, std::string_view arguments) {
    const std::string command =
        absl::StrCat("cd ", folder_, " && ", program, " ", arguments, " 2>err");
    FILE* pipe = popen(command.c_str(), "r");
    Ended ended;
    char buffer[4096];
    while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) ended.out.append(buffer, n);
    ended.code = WEXITSTATUS(pclose(pipe));
    ended.err = *ReadFile(Path("err"), 1 << 20);
    return ended;
  }
  Ended RunTool(std::string_view arguments) { return Run(ONNX_CUDNN_RUN, arguments); }
  // Expects this exit code, and one line on standard error that contains `text`.
  void ExpectFails(const Ended& ended, int code, std::string_view text) {
    EXPECT_EQ(ended.code, code) << ended.err;
    EXPECT_TRUE(absl::StrContains(ended.err, text)) << ended.err;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }

  std::string folder_;
};

}  // namespace onnx_cudnn
