#include "tools/common/profile_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tools/common/chrome_trace.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

// Three steps of 10, 30 and 60 us on two streams, in one measured run after two that warm up.
RunProfile Profile() {
  RunProfile profile{.streams = 2,
                     .is_captured = true,
                     .run_us = 90,
                     .steps_us = 100,
                     .bytes_in = 64,
                     .copy_in_us = 2};
  profile.steps = {{.index = 0,
                    .stream = 0,
                    .engine = "kernel",
                    .variant = "pointwise",
                    .nodes = {"/layer1/act/Relu"},
                    .ops = {"Relu"},
                    .us = 10,
                    .share = 0.1,
                    .floor_us = 5,
                    .flops = 1'000'000,
                    .bytes = 20'000},
                   {.index = 2,
                    .stream = 1,
                    .engine = "cudnn",
                    .nodes = {"/layer1/conv/Conv", "/layer1/act_1/Relu"},
                    .ops = {"Conv", "Relu"},
                    .us = 30,
                    .share = 0.3,
                    .floor_us = 30,
                    .flops = 60'000'000,
                    .bytes = 300'000},
                   {.index = 3,
                    .stream = 0,
                    .engine = "kernel",
                    .nodes = {"/layer1/act/Relu_1"},
                    .ops = {"Relu"},
                    .us = 60,
                    .share = 0.6,
                    .floor_us = 9,
                    .flops = 0,
                    .bytes = 60'000}};
  for (int i = 0; i < 3; ++i) {
    profile.runs.push_back({.begin_us = 1000.0 + 500 * i,
                            .is_replay = i > 0,
                            .steps = {{3, 10}, {4, 30}, {20, 60}},
                            .copies_in = {0, 2},
                            .copies_out = {80, 0}});
  }
  return profile;
}

TEST(ProfileReportTest, ALayerIsThePathOfANode) {
  EXPECT_EQ(LayerOf("/layer1/layer1.0/conv1/Conv"), "/layer1/layer1.0/conv1");
  EXPECT_EQ(LayerOf("layer1.0.conv1"), "layer1.0");
  EXPECT_EQ(LayerOf("/Conv"), "(none)");
  EXPECT_EQ(LayerOf("conv1"), "(none)");
}

TEST(ProfileReportTest, FoldsStepsTheLongestFirst) {
  const std::vector<ProfileGroup> ops = FoldProfile(Profile(), ProfileBy::kOp);
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].name, "Relu");
  EXPECT_EQ(ops[0].steps, 2);
  EXPECT_EQ(ops[0].sum.us, 70);
  EXPECT_DOUBLE_EQ(ops[0].sum.share, 0.7);
  EXPECT_DOUBLE_EQ(ops[0].sum.of_floor(), 0.2);
  EXPECT_DOUBLE_EQ(ops[0].sum.gb_per_s(), 80'000 / 70e-6 / 1e9);
  EXPECT_EQ(ops[1].name, "Conv Relu");
  EXPECT_DOUBLE_EQ(ops[1].sum.tflop_per_s(), 2);
  const std::vector<ProfileGroup> layers = FoldProfile(Profile(), ProfileBy::kLayer);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].name, "/layer1/act");
  EXPECT_EQ(layers[1].name, "/layer1/conv");
  EXPECT_EQ(layers[1].sum.us, 30);
}

TEST(ProfileReportTest, AStepIsALine) {
  const std::string text = ProfileText(Profile(), ProfileBy::kStep);
  for (const char* expected :
       {"3 steps take 100.00 us, a run without marks between them 90.00 us; medians of 1 replays",
        "copies  64 bytes in 2.00 us, 0 bytes out 0.00 us",
        "    0     10.00   10.0 %     50 %      2.0     0.10       0  kernel   Relu: "
        "/layer1/act/Relu; pointwise\n",
        "    2     30.00   30.0 %    100 %     10.0     2.00       1  cudnn    Conv Relu: "
        "/layer1/conv/Conv /layer1/act_1/Relu\n"}) {
    EXPECT_TRUE(absl::StrContains(text, expected)) << expected << "\n" << text;
  }
  EXPECT_TRUE(absl::StrContains(ProfileText(Profile(), ProfileBy::kLayer),
                                "    2     70.00   70.0 %     20 %      1.1     0.01  "
                                "/layer1/act\n"))
      << ProfileText(Profile(), ProfileBy::kLayer);
}

TEST(ProfileReportTest, JsonHasStepsAndGroups) {
  const Json json = ProfileJson(Profile(), ProfileBy::kOp);
  EXPECT_EQ(json["runs"], 1);
  EXPECT_EQ(json["steps"].size(), 3u);
  EXPECT_EQ(json["steps"][1]["nodes"][0], "/layer1/conv/Conv");
  EXPECT_EQ(json["steps"][1]["of_floor"], 1);
  EXPECT_EQ(json["groups"][0]["name"], "Relu");
  EXPECT_FALSE(ProfileJson(Profile(), ProfileBy::kStep).contains("groups"));
}

// What Perfetto shows of one event: "track: name from ts for dur".
std::vector<std::string> Shown(const Json& trace) {
  std::map<std::pair<int, int>, std::string> tracks;
  std::vector<std::string> shown;
  for (const Json& event : trace["traceEvents"]) {
    const std::pair<int, int> track(event["pid"], event["tid"]);
    if (event["name"] == "thread_name") tracks[track] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    shown.push_back(absl::StrCat(tracks[track], ": ", event["name"].get<std::string>(), " from ",
                                 event["ts"].get<double>(), " for ", event["dur"].get<double>()));
  }
  return shown;
}

TEST(ChromeTraceTest, HasATrackPerStreamOneOfCopiesAndOneOfTheHost) {
  RunProfile profile = Profile();
  profile.runs.resize(1);
  const Json trace =
      Json::parse(ChromeTrace(profile, {{"partition", 900, 80}, {"launch", 990, 15}}, "cuda"));
  EXPECT_EQ(Shown(trace), (std::vector<std::string>{
                              "calls: partition from 0 for 80", "calls: launch from 90 for 15",
                              "copies: host to device from 100 for 2",
                              "stream 0: /layer1/act/Relu from 103 for 10",
                              "stream 1: /layer1/conv/Conv from 104 for 30",
                              "stream 0: /layer1/act/Relu_1 from 120 for 60"}));
  const Json& copy =
      *std::find_if(trace["traceEvents"].begin(), trace["traceEvents"].end(),
                    [](const Json& event) { return event["name"] == "host to device"; });
  EXPECT_EQ(copy["args"]["bytes"], 64);
}

}  // namespace
}  // namespace onnx_cudnn
