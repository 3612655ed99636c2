#include "tools/common/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"

namespace onnx_cudnn {
namespace {

CheckedPartition Checked(int index, bool ok) {
  CheckedPartition partition;
  partition.index = index;
  partition.engine = "cudnn";
  partition.ops = absl::StrCat("Conv Relu: conv", index);
  partition.output = "y";
  partition.ok = ok;
  return partition;
}

CheckedOutput Alone(std::string ops, bool ok) {
  CheckedOutput op;
  op.engine = "cudnn";
  op.ops = std::move(ops);
  op.ok = ok;
  return op;
}

TEST(ReportTest, NamesTheFirstWrongPartitionAndItsOps) {
  RunReport report;
  report.partitions = {Checked(7, false), Checked(3, false), Checked(1, true)};
  report.partitions[0].op_by_op = {Alone("Conv: conv7", true), Alone("Relu: relu7", true)};
  report.partitions[1].op_by_op = {Alone("Conv: conv3", false), Alone("Relu: relu3", true)};
  const std::string text = FormatText(report, /*verbose=*/false);
  EXPECT_TRUE(
      absl::StrContains(text, "first   partition 3 is the first that is wrong: Conv Relu: conv3\n"))
      << text;
  EXPECT_TRUE(absl::StrContains(text, "Relu: relu7 > \n       each op alone is right")) << text;
  EXPECT_FALSE(absl::StrContains(text, "Relu: relu3 > \n       each op")) << text;
  const auto json = nlohmann::json::parse(FormatJson(report));
  EXPECT_EQ(json["first_wrong"], 3);
  EXPECT_EQ(json["partitions"][1]["index"], 3);
  EXPECT_EQ(json["partitions"][1]["op_by_op"][0]["ok"], false);
  EXPECT_FALSE(json["partitions"][2].contains("op_by_op"));
}

TEST(ReportTest, ShowsThePartsOfAStart) {
  RunReport report;
  report.first_ms = 30;
  report.first_times[RunPhase::kUpload] = 20;
  report.start = {
      {.name = "load kernels", .begin_ms = 90, .end_ms = 110, .ms = 35, .stretches = 7}};
  const std::string text = FormatText(report, /*verbose=*/true);
  EXPECT_TRUE(
      absl::StrContains(text, "start   load kernels: from 90.0 to 110.0 ms, 35.0 ms in 7\n"))
      << text;
  EXPECT_FALSE(absl::StrContains(FormatText(report, /*verbose=*/false), "load kernels"));
  const auto json = nlohmann::json::parse(FormatJson(report));
  EXPECT_EQ(json["start"][0]["stretches"], 7);
  EXPECT_EQ(json["first_run_parts"]["upload_ms"], 20);
  EXPECT_EQ(json["first_run_parts"]["other_ms"], 10);
}

TEST(ReportTest, ARightRunNamesNone) {
  RunReport report;
  report.partitions = {Checked(0, true)};
  EXPECT_EQ(report.first_wrong(), nullptr);
  EXPECT_FALSE(absl::StrContains(FormatText(report, /*verbose=*/false), "is the first"));
}

}  // namespace
}  // namespace onnx_cudnn
