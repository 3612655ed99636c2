#include "tools/common/explain_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

PartitionReport Partition(std::string op, std::string node) {
  return {.engine = "cudnn",
          .nodes = {std::move(node)},
          .ops = {std::move(op)},
          .inputs = {{"x", "f32[1,4,2,2]", "NCHW"}},
          .outputs = {{"y", "f32[1,4,2,2]", "NHWC"}},
          .cost = {.us = 2.5, .flops = 1'500'000, .bytes = 64'000},
          .floor_us = 2};
}

EdgeReport Edge(std::string producer, std::vector<Refusal> refusals) {
  return {.producer = std::move(producer),
          .producer_op = "Relu",
          .consumer = "conv",
          .consumer_op = "Conv",
          .refusals = std::move(refusals)};
}

int LinesWith(const std::string& text, std::string_view what) {
  int lines = 0;
  for (std::string_view line : absl::StrSplit(text, '\n')) lines += absl::StrContains(line, what);
  return lines;
}

TEST(ExplainTextTest, RepeatedBlocksAreListedOnce) {
  Explanation e;
  for (int i = 0; i < 3; ++i) {
    e.partitions.push_back(Partition("Conv", absl::StrCat("conv", i)));
    e.partitions.push_back(Partition("Pool", absl::StrCat("pool", i)));
  }
  e.partitions.push_back(Partition("Gemm", "fc"));
  const std::string text = ExplainText(e, /*verbose=*/false);
  EXPECT_TRUE(absl::StrContains(
      text,
      "   0    x3  cudnn       2.50     2.00      1.5     64.0  NCHW>NHWC      f32[1,4,2,2]       "
      "Conv: conv0\n"
      "   1    x3  cudnn       2.50     2.00      1.5     64.0  NCHW>NHWC      f32[1,4,2,2]       "
      "Pool: pool0\n"
      "   6        cudnn       2.50     2.00      1.5     64.0  NCHW>NHWC      f32[1,4,2,2]       "
      "Gemm: fc\n"))
      << text;
  EXPECT_EQ(LinesWith(ExplainText(e, /*verbose=*/true), "Pool: pool"), 3);
}

TEST(ExplainTextTest, WhatLostIsListedIfAll) {
  Explanation e;
  e.partitions.push_back(Partition("Conv", "conv"));
  e.partitions[0].lost = {{"kernel", "NHWC", 3.25}, {"host", "NCHW, host", 80}};
  EXPECT_EQ(LinesWith(ExplainText(e, /*verbose=*/true),
                      "            instead: kernel NHWC 3.25 us; host NCHW, host 80.00 us"),
            1);
  EXPECT_EQ(LinesWith(ExplainText(e, /*verbose=*/false), "instead"), 0);
}

TEST(ExplainTextTest, EdgesAreGroupedByReasonWithExamples) {
  Explanation e;
  for (int i = 0; i < 5; ++i) {
    e.edges.push_back(Edge(absl::StrCat("relu", i), {{"cudnn", "no prologue", "fold it"}}));
  }
  e.edges.push_back(Edge("other", {{"gemm", "not 1x1", ""}}));
  const std::string text = ExplainText(e, /*verbose=*/false);
  EXPECT_TRUE(absl::StrContains(text,
                                "not fused: 6 edges between partitions\n"
                                "    5  Relu > Conv\n"
                                "       cudnn: no prologue; fold it\n"
                                "       e.g. relu0 > conv, relu1 > conv, relu2 > conv\n"
                                "    1  Relu > Conv\n"
                                "       gemm: not 1x1\n"
                                "       e.g. other > conv\n"))
      << text;
  EXPECT_EQ(LinesWith(ExplainText(e, /*verbose=*/true), " > conv"), 6);
}

TEST(ExplainTextTest, RareReasonsAreCounted) {
  Explanation e;
  for (int i = 0; i < 14; ++i) e.edges.push_back(Edge("r", {{"cudnn", absl::StrCat(i), ""}}));
  EXPECT_EQ(LinesWith(ExplainText(e, /*verbose=*/false), "    4  for 4 other reasons (--verbose)"),
            1);
}

TEST(ExplainTextTest, OffersAreListedWithBothTimes) {
  Explanation e;
  e.edges.push_back(Edge("relu", {}));
  e.edges[0].offer = {"cudnn", 3, 4.5};
  EXPECT_EQ(LinesWith(ExplainText(e, /*verbose=*/false),
                      "relu > conv (offered at 3.00 us, chosen: 4.50 us)"),
            1);
  e.edges[0].offer->other_ops = 2;
  EXPECT_EQ(LinesWith(ExplainText(e, /*verbose=*/false),
                      "relu > conv (offered at 3.00 us, chosen: 4.50 us with 2 more ops)"),
            1);
}

TEST(ExplainTextTest, FormatCostsAddUpByKind) {
  Explanation e;
  for (int i = 0; i < 3; ++i) e.formats.push_back({"Reformat", "x", "NCHW", "NHWC", 1000, 2});
  EXPECT_EQ(LinesWith(ExplainText(e, /*verbose=*/false),
                      "    3  Reformat      6.00 us     3.00 kB  NCHW > NHWC: x"),
            1);
}

TEST(ExplainTextTest, WarnsWhereTheTargetHasLessMemory) {
  Explanation e{.target = "h200"};
  e.memory.needed_bytes = 4'400'000'000'000;
  EXPECT_EQ(LinesWith(ExplainText(e, /*verbose=*/false), "warning"), 0);  // it is not known
  e.memory.device_bytes = 150'109'880'320;
  EXPECT_EQ(LinesWith(ExplainText(e, /*verbose=*/false),
                      "warning  weights, arena, inputs and outputs are 4.40 TB, h200 has 150.11 "
                      "GB: give smaller inputs (--shape)"),
            1);
}

TEST(ExplainTextTest, VerboseShowsBuffersAndTheTimeline) {
  Explanation e;
  e.memory.buffers.push_back({"conv_out", Space::kDevice, 256, 1024, 0, 2});
  e.memory.live_bytes = {1024, 512};
  const std::string text = ExplainText(e, /*verbose=*/true);
  EXPECT_EQ(LinesWith(text, "256         1024  0 to 2        conv_out"), 1) << text;
  EXPECT_EQ(LinesWith(text, absl::StrCat("0          1024  ", std::string(60, '#'))), 1) << text;
  EXPECT_FALSE(absl::StrContains(ExplainText(e, /*verbose=*/false), "conv_out"));
}

TEST(ExplainTextTest, NoLineIsLongerThanTheScreen) {
  Explanation e;
  e.partitions.push_back(Partition("Conv", std::string(500, 'n')));
  e.edges.push_back(Edge(std::string(500, 'p'), {{"cudnn", std::string(500, 's'), ""}}));
  for (std::string_view line : absl::StrSplit(ExplainText(e, /*verbose=*/true), '\n')) {
    EXPECT_LE(line.size(), kExplainColumns);
  }
}

}  // namespace
}  // namespace onnx_cudnn
