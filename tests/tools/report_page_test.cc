// The page of --report, and that programs write it.
#include "tools/common/report_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/base/file.h"
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDataTag = R"(<script type="application/json" id="data">)";

// The text of the element that holds the data, as a browser ends it.
std::string DataText(const std::string& page) {
  const size_t begin = page.find(kDataTag) + kDataTag.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

class ReportPageTest : public ProgramsTest {
 protected:
  void SetUp() override {
    ProgramsTest::SetUp();
    if (!CheckReportPage().ok()) GTEST_SKIP() << CheckReportPage().message();
  }
};

TEST_F(ReportPageTest, ANameThatEndsAScriptStaysData) {
  const std::string name = "</script><!--<script>alert(1)";
  const auto page = ReportPage({{"model", name}});
  ASSERT_TRUE(page.ok()) << page.status();
  const Json data = Json::parse(DataText(*page));
  EXPECT_EQ(data["model"], name);
  EXPECT_TRUE(data["versions"].contains("version"));
}

// The policy forbids it to browsers.
TEST_F(ReportPageTest, IsWholeAndLoadsNothingFromElsewhere) {
  const auto page = ReportPage({{"model", "m"}});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(absl::StrContains(*page, R"(content="default-src 'none';)"));
  for (const std::string_view unfilled : {"@DATA@", "@STYLE@", "@SCRIPT@", "@LIBRARY@"}) {
    EXPECT_FALSE(absl::StrContains(*page, unfilled)) << unfilled;
  }
  EXPECT_TRUE(absl::StrContains(*page, "d3js.org"));  // the library
}

TEST_F(ReportPageTest, SegmentsWithoutAProgramAreLeftOut) {
  const auto page = ExplainPage("m", R"({"segments": [{"program": null, "reasons": []},
      {"program": {"target": "cpu"}, "reasons": ["node n"]}]})",
                                "m --explain");
  ASSERT_TRUE(page.ok()) << page.status();
  const Json programs = Json::parse(DataText(*page))["programs"];
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0]["target"], "cpu");
  EXPECT_EQ(programs[0]["cut"][0], "node n");
}

TEST_F(ReportPageTest, BothProgramsWriteIt) {
  Ended ended = Run(ONNX_CUDNN_OPT, "shift.onnx --explain --target h200 --report why.html");
  ASSERT_EQ(ended.code, 0) << ended.err;
  Json data = Json::parse(DataText(*ReadFile(Path("why.html"), 1 << 24)));
  EXPECT_EQ(data["model"], "shift.onnx");
  EXPECT_EQ(data["run"]["flags"], "shift.onnx --explain --target h200 --report why.html");
  EXPECT_EQ(data["programs"][0]["partitions"][0]["ops"][0], "Sub");
  EXPECT_GT(data["programs"][0]["peaks"]["bytes_per_us"], 0);
  ended = RunTool("shift.onnx --device cpu --report run.html");
  ASSERT_EQ(ended.code, 0) << ended.err;
  data = Json::parse(DataText(*ReadFile(Path("run.html"), 1 << 24)));
  EXPECT_EQ(data["programs"][0]["partitions"][0]["ops"][0], "Sub");
  EXPECT_EQ(data["programs"][0]["partitions"][0]["nodes"], data["profile"]["steps"][0]["nodes"]);
  EXPECT_EQ(data["profile"]["steps"][0]["ops"][0], "Sub");
  EXPECT_TRUE(data["profile"]["steps"][0].contains("begin_us"));
  EXPECT_EQ(data["run"]["flags"], "shift.onnx --device cpu --report run.html");
  EXPECT_EQ(data["run"]["device"], "cpu");
}

TEST_F(ReportPageTest, TheGpuAndItsSoftwareAreNamed) {
  const Json run = RunFactsJson({.product = "h200",
                                 .driver = "580.95",
                                 .cuda = "13.0",
                                 .cudnn = "9.19.0",
                                 .cublaslt = "13.0.2"},
                                "m.onnx");
  EXPECT_EQ(run.dump(), R"({"device":"h200","driver":"580.95","CUDA":"13.0","cuDNN":"9.19.0",)"
                        R"("cuBLASLt":"13.0.2","flags":"m.onnx"})");
}

TEST_F(ReportPageTest, NeedsExplain) {
  ExpectFails(Run(ONNX_CUDNN_OPT, "shift.onnx --report why.html"), 1, "--report");
}

}  // namespace
}  // namespace onnx_cudnn
