#include "tools/common/color.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

constexpr char kRedTool[] = "\033[31monnx-cudnn-run: \033[m";

class ColorTest : public ProgramsTest {
 protected:
  // What a shell command writes to a terminal on its standard error.
  std::string OnTerminal(std::string_view command) {
    const Descriptor master(posix_openpt(O_RDWR | O_NOCTTY));
    if (master.get() < 0 || grantpt(master.get()) != 0 || unlockpt(master.get()) != 0) {
      ADD_FAILURE() << "no terminal";
      return "";
    }
    const std::string name = ptsname(master.get());
    const Descriptor slave(open(name.c_str(), O_RDWR | O_NOCTTY));
    Write("command.sh", absl::StrCat(command, " 2>", name, "\n"));
    Run("sh", "command.sh");
    char text[4096];
    const ssize_t size = read(master.get(), text, sizeof(text));
    return std::string(text, size < 0 ? 0 : static_cast<size_t>(size));
  }
};

TEST_F(ColorTest, OnATerminalThePrefixOfErrorsIsRed) {
  const std::string fails = absl::StrCat(ONNX_CUDNN_RUN, " none.onnx");
  EXPECT_TRUE(absl::StartsWith(OnTerminal(fails), kRedTool));
  EXPECT_TRUE(absl::StartsWith(OnTerminal(absl::StrCat("NO_COLOR= ", fails)), kRedTool));
  for (const std::string& plain :
       {absl::StrCat("NO_COLOR=1 ", fails), absl::StrCat(fails, " --color=never")}) {
    const std::string text = OnTerminal(plain);
    EXPECT_TRUE(absl::StartsWith(text, "onnx-cudnn-run: ")) << text;
    EXPECT_FALSE(absl::StrContains(text, "\033")) << text;
  }
}

TEST_F(ColorTest, ElsewhereThereIsNone) {
  EXPECT_FALSE(absl::StrContains(RunTool("none.onnx").err, "\033"));
  EXPECT_TRUE(absl::StartsWith(RunTool("none.onnx --color=always").err, kRedTool));
  EXPECT_TRUE(absl::StartsWith(RunTool("none.onnx --color always").err, kRedTool));
  ExpectFails(RunTool("none.onnx --color=red"), 1, "expected auto, always or never, found red");
}

TEST_F(ColorTest, WarningsAreYellow) {
  ASSERT_TRUE(ChooseColor("always").ok());
  ColorLog();
  testing::internal::CaptureStderr();
  Log(LogSeverity::kInfo, "decided");
  Log(LogSeverity::kWarning, "left out");
  Log(LogSeverity::kError, "not released");
  const std::string text = testing::internal::GetCapturedStderr();
  SetLogSink(nullptr);
  ASSERT_TRUE(ChooseColor("auto").ok());
  EXPECT_EQ(text,
            "\033[33monnx-cudnn: warning: \033[mleft out\n"
            "\033[31monnx-cudnn: error: \033[mnot released\n");
}

}  // namespace
}  // namespace onnx_cudnn
