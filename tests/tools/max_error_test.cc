#include "tools/common/max_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

// The sum of the errors of the nodes that are not kept.
KeepRequest Costs(const std::map<std::string, double>& costs, double most) {
  KeepRequest request{.most = most};
  std::vector<std::pair<double, std::string>> ranked;
  for (const auto& [name, cost] : costs) ranked.emplace_back(-cost, name);
  std::sort(ranked.begin(), ranked.end());
  for (const auto& [cost, name] : ranked) request.groups.push_back({name});
  request.error = [costs](const std::vector<std::string>& keep) {
    double error = 0;
    for (const auto& [name, cost] : costs) {
      if (std::find(keep.begin(), keep.end(), name) == keep.end()) error += cost;
    }
    return error;
  };
  return request;
}

TEST(FindWhatToKeepTest, KeepsWhatCostsMost) {
  const auto found = FindWhatToKeep(Costs({{"a", 1}, {"b", 8}, {"c", 2}, {"d", 4}}, 3));
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->is_reached);
  EXPECT_EQ(found->keep, std::vector<std::string>({"b", "d"}));
  EXPECT_EQ(found->error, 3);
}

TEST(FindWhatToKeepTest, LeavesOutWhatProvesNotToBeNeeded) {
  KeepRequest request = Costs({{"a", 1}, {"b", 8}, {"c", 2}}, 3);
  request.groups = {{"a"}, {"c"}, {"b"}};  // a ranking that is wrong
  EXPECT_EQ(FindWhatToKeep(request)->keep, std::vector<std::string>({"b"}));
}

TEST(FindWhatToKeepTest, NothingAndTooLittleAreSaid) {
  const Kept nothing = *FindWhatToKeep(Costs({{"a", 1}}, 1));
  EXPECT_TRUE(nothing.is_reached);
  EXPECT_TRUE(nothing.keep.empty());
  EXPECT_EQ(nothing.runs, 1);
  KeepRequest request = Costs({{"a", 1}, {"b", 2}}, 1);
  request.groups = {{"a"}};
  const Kept little = *FindWhatToKeep(request);
  EXPECT_FALSE(little.is_reached);
  EXPECT_EQ(little.error, 2);
}

class MaxErrorTest : public ProgramsTest {};

// The first product overflows f16, its square root would not.
TEST_F(MaxErrorTest, TheFlagThatItPrintsReachesTheError) {
  Write("large.onnx", *ModelBytesFromText(R"(
      g (float[2,8] x) => (float[2,2] y)
      <float[8,2] w = {60000, 50000, 60000, 50000, 60000, 50000, 60000, 50000,
                       60000, 50000, 60000, 50000, 60000, 50000, 60000, 50000},
       float[2,2] v = {1, 0.5, 0.25, 2}> {
        a = MatMul(x, w)
        b = Sqrt(a)
        y = MatMul(b, v) })"));
  const std::string fp16 = "large.onnx --target h200 --precision fp16";
  const Ended warned = RunTool(fp16);
  EXPECT_EQ(warned.code, 0) << warned.err;
  EXPECT_TRUE(absl::StrContains(warned.out, "warning output y: 4 elements are NaN or infinite"))
      << warned.out;
  const Ended checked = RunTool(absl::StrCat(fp16, " --check-partitions"));
  EXPECT_TRUE(absl::StrContains(checked.out, "is the first that overflows")) << checked.out;
  const Ended verified = RunTool(absl::StrCat(fp16, " --verify reference"));
  EXPECT_EQ(verified.code, 4);
  EXPECT_TRUE(absl::StrContains(verified.out, "first in partition")) << verified.out;

  const Ended found = RunTool(absl::StrCat(fp16, " --max-error 0.01"));
  EXPECT_EQ(found.code, 0) << found.err << found.out;
  EXPECT_TRUE(absl::StrContains(found.out, "--keep-f32 a")) << found.out;
  const Ended kept = RunTool(absl::StrCat(fp16, " --keep-f32 a --verify reference"));
  EXPECT_EQ(kept.code, 0) << kept.err << kept.out;
  EXPECT_FALSE(absl::StrContains(kept.out, "warning")) << kept.out;
  const Ended more = RunTool(absl::StrCat(fp16, " --keep-f32 y --max-error 0.01"));
  EXPECT_TRUE(absl::StrContains(more.out, "--keep-f32 y,a")) << more.err << more.out;
  ExpectFails(RunTool(absl::StrCat(fp16, " --keep-f32 nobody")), 2, "no node \"nobody\"");
  ExpectFails(RunTool("large.onnx --max-error 0.01"), 2, "--max-error needs --precision");
}

// bf16 takes 1.003 for 1.
TEST_F(MaxErrorTest, EachOutputHasItsError) {
  Write("two.onnx", *ModelBytesFromText(R"(
      g (float[1,2] x, float[1,2] z) => (float[1,1] exact, float[1,1] rounded)
      <float[2,1] v = {1, 2}, float[2,1] w = {1.003, 1.003}> {
        exact = MatMul(x, v)
        rounded = MatMul(z, w) })"));
  const std::string bf16 =
      "two.onnx --target h200 --precision bf16 --input x=1,2 --input z=1,2 --max-error ";
  const Ended loose = RunTool(absl::StrCat(bf16, "0.5"));
  EXPECT_EQ(loose.code, 0) << loose.err;
  EXPECT_TRUE(absl::StrContains(loose.out, "error   exact 0, rounded 0.00299 in bf16"))
      << loose.out;
  const auto json = nlohmann::json::parse(RunTool(absl::StrCat(bf16, "1e-6 --json")).out);
  EXPECT_EQ(json["outputs_without"]["exact"], 0);
  EXPECT_EQ(json["outputs_without"]["rounded"], json["without"]);
  EXPECT_TRUE(json["reached"]);
  EXPECT_EQ(json["keep_f32"], std::vector<std::string>({"rounded"}));
  EXPECT_EQ(json["outputs"]["exact"], 0);
  EXPECT_LE(json["outputs"]["rounded"], 1e-6);
}

}  // namespace
}  // namespace onnx_cudnn
