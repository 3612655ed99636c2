#include "runtime/base/log.h"

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/log/log.h"

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

TEST_F(LogTest, TheSinkGetsWhatLibrariesLog) {
  std::vector<std::pair<LogSeverity, std::string>> got;
  SetLogSink([&](LogSeverity severity, std::string_view message) {
    got.emplace_back(severity, std::string(message));
  });
  testing::internal::CaptureStderr();
  LOG(WARNING) << "odd";
  LOG(ERROR) << "bad";
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(got, (std::vector<std::pair<LogSeverity, std::string>>{{LogSeverity::kWarning, "odd"},
                                                                   {LogSeverity::kError, "bad"}}));
}

TEST(LogDeathTest, TheSinkGetsTheInvariantThatEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        SetLogSink([](LogSeverity severity, std::string_view message) {
          if (severity == LogSeverity::kError) std::cerr << "sink: " << message << std::endl;
        });
        CHECK_EQ(1 + 1, 3) << "in arithmetic";
      },
      "^sink: Check failed: 1 \\+ 1 == 3 \\(2 vs. 3\\) in arithmetic");
}

}  // namespace
}  // namespace onnx_cudnn
