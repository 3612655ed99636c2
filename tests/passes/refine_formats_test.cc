// Formats that Greedy changes once it has a cover.
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"
#include "tests/support/test_engines.h"

namespace onnx_cudnn {
namespace {

int Count(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class RefineFormatsTest : public ::testing::Test {
 protected:
  // The Partitions of a channels-last Conv whose output a Split divides into p and q, and of
  // `nodes`.
  std::string Behind(const std::string& nodes) const {
    const Graph graph = GraphFromText(absl::StrCat(R"(
        g (float[2,2,2,2] x) => (y, z)
        <float[4,2,1,1] w = {1,0, 0,1, 2,0, 0,3}, int64[2] halves = {2, 2}, int64[3] pixels = {2, 2, 4}>
        { c = Conv(x, w)
          p, q = Split<axis = 1>(c, halves) )",
                                                   nodes, " }"));
    Target target = TargetOf({&last_, view_.get(), host_.get()});
    target.info.compute_capability = 90;  // so that views take channels-last images
    const auto program = ExpectRunsLikeEvaluate(graph, {}, target);
    return program == nullptr ? "" : Partitions(*program);
  }

  const TestEngine last_{{.name = "last", .ops = {"Conv", "Split"}, .channels_last = true}};
  const std::unique_ptr<Engine> view_ = MakeViewEngine();
  const std::unique_ptr<Engine> host_ = MakeHostEngine(Space::kDevice);
};

// A view takes both Formats of a part, but what reads its output takes rows.
TEST_F(RefineFormatsTest, ASplitOfPartsThatAreReadInRowsReadsRows) {
  const std::string partitions =
      Behind("a = Reshape(p, pixels) b = Reshape(q, pixels) y = Softmax(a) z = Softmax(b)");
  EXPECT_EQ(Count(partitions, "Reformat"), 2) << partitions;  // before the Conv and behind it
  EXPECT_EQ(Count(partitions, "host {Split}"), 1) << partitions;
}

TEST_F(RefineFormatsTest, ASplitWithAPartForEachFormatStaysAsItIs) {
  const std::string partitions = Behind("a = Reshape(p, pixels) y = Softmax(a) z = Conv(q, w)");
  EXPECT_EQ(Count(partitions, "last {Split}"), 1) << partitions;
}

}  // namespace
}  // namespace onnx_cudnn
