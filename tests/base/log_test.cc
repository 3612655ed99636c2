#include "runtime/base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace onnx_cudnn {
namespace {

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { SetLogSink(nullptr); }
};

TEST_F(LogTest, TheSinkGetsEveryMessage) {
  std::vector<std::pair<LogSeverity, std::string>> got;
  SetLogSink([&](LogSeverity severity, std::string_view message) {
    got.emplace_back(severity, std::string(message));
  });
  testing::internal::CaptureStderr();
  Log(LogSeverity::kInfo, "one");
  Log(LogSeverity::kError, "two");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(got, (std::vector<std::pair<LogSeverity, std::string>>{{LogSeverity::kInfo, "one"},
                                                                   {LogSeverity::kError, "two"}}));
}

TEST_F(LogTest, WithoutASinkWarningsAndErrorsGoToStandardError) {
  SetLogSink([](LogSeverity, std::string_view) { FAIL(); });
  SetLogSink(nullptr);
  testing::internal::CaptureStderr();
  Log(LogSeverity::kInfo, "chosen");
  Log(LogSeverity::kWarning, "left out");
  Log(LogSeverity::kError, "lost");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "onnx-cudnn: warning: left out\nonnx-cudnn: error: lost\n");
}

}  // namespace
}  // namespace onnx_cudnn
