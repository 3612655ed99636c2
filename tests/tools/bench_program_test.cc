// onnx-cudnn-bench as a process: its output, files and exit codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file.h"
#include "tests/tools/programs_fixture.h"

namespace onnx_cudnn {
namespace {

TEST_F(ProgramsTest, BenchWritesRecords) {
  const Ended ended =
      Run(ONNX_CUDNN_BENCH,
          "shift.onnx --device cpu --batches 1,8 --precisions strict --runs 5 "
          "--warm-up 0 --seconds 0.01 --run here --commit abc --output records.json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json records = nlohmann::json::parse(*ReadFile(Path("records.json"), 1 << 20));
  ASSERT_EQ(records.size(), 2u);
  const nlohmann::json& record = records[1];
  for (const auto& [key, value] : std::map<std::string, nlohmann::json>{{"who", "onnx-cudnn"},
                                                                        {"model", "shift"},
                                                                        {"precision", "strict"},
                                                                        {"batch", 8},
                                                                        {"device", "cpu"},
                                                                        {"driver", ""},
                                                                        {"commit", "abc"},
                                                                        {"run", "here"}}) {
    EXPECT_EQ(record[key], value) << key;
  }
  EXPECT_GT(record["median_ms"], 0);
  for (const char* larger : {"p90_ms", "p95_ms", "p99_ms"}) {
    EXPECT_GE(record[larger], record["median_ms"]) << larger;
  }
  EXPECT_GT(record["mean_ms"], 0);
  EXPECT_GE(record["noise"], 0);
  EXPECT_GT(record["images_per_s"], 0);
  for (const char* of_a_gpu : {"h2d_ms", "d2h_ms", "enqueue_ms", "clock_mhz", "power_w"}) {
    EXPECT_FALSE(record.contains(of_a_gpu)) << of_a_gpu;
  }
  EXPECT_GE(record["setup_s"], record["context_s"]);
  EXPECT_EQ(record["tune_s"], 0);
  EXPECT_EQ(record["peak_bytes"], 16 + 2 * 8 * 16);  // weights, input and output
  EXPECT_EQ(ended.out, "");
  EXPECT_TRUE(absl::StartsWith(ended.err, "device cpu\nmodel ")) << ended.err;
  ExpectFails(Run(ONNX_CUDNN_BENCH, "shift.onnx --batches none"), 1, "--batches: expected numbers");
  ExpectFails(Run(ONNX_CUDNN_BENCH, "shift.onnx --threads 0"), 1, "--threads: expected 1 to 256");
  ExpectFails(Run(ONNX_CUDNN_BENCH, "none.onnx"), 2, "none.onnx");
}

// A shorter form of the command in BenchWritesRecords.
constexpr std::string_view kQuickBench =
    "shift.onnx --device cpu --precisions strict --runs 5 --warm-up 0 --seconds 0.01 ";

TEST_F(ProgramsTest, BenchRunsThreadsOverOneModel) {
  const Ended ended =
      Run(ONNX_CUDNN_BENCH, absl::StrCat(kQuickBench, "--threads 3 --batches 2 --csv records.csv"));
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json record = nlohmann::json::parse(ended.out)[0];
  EXPECT_EQ(record["threads"], 3);
  EXPECT_GT(record["images_per_s"], 0);
  EXPECT_EQ(record["peak_bytes"], 16 + 3 * 2 * 2 * 16);  // weights, inputs and outputs of each
  const std::string csv = *ReadFile(Path("records.csv"), 1 << 20);
  EXPECT_TRUE(absl::StartsWith(csv, "who,model,precision,partitioner,batch,threads,")) << csv;
  EXPECT_TRUE(absl::StrContains(csv, "\nonnx-cudnn,shift,strict,greedy,2,3,false,")) << csv;
}

TEST_F(ProgramsTest, BenchTakesShapes) {
  const auto bench = [&](std::string_view shapes) {
    return Run(ONNX_CUDNN_BENCH, absl::StrCat(kQuickBench, "--batches 1,3 --shapes ", shapes));
  };
  for (const char* shape : {"x=Nx4", "Nx4"}) {
    const Ended ended = bench(shape);
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(nlohmann::json::parse(ended.out)[1]["peak_bytes"], 16 + 2 * 3 * 16) << shape;
  }
  const Ended without_batches = Run(ONNX_CUDNN_BENCH, absl::StrCat(kQuickBench, "--shapes x=3x4"));
  ASSERT_EQ(without_batches.code, 0) << without_batches.err;
  EXPECT_EQ(nlohmann::json::parse(without_batches.out)[0]["batch"], 3);
  EXPECT_EQ(bench("x=Nx5").code, 2);
  EXPECT_EQ(bench("none=Nx4").code, 2);
}

TEST_F(ProgramsTest, BenchComparesWithRecords) {
  const auto bench = [&](std::string_view flags) {
    return Run(ONNX_CUDNN_BENCH, absl::StrCat(kQuickBench, flags));
  };
  const auto peer = [](std::string_view model) {
    return absl::StrCat(R"([{"who": "peer", "model": ")", model,
                        R"(", "precision": "strict", "batch": 1, "median_ms": 1e6}])");
  };
  Write("slow.json", peer("shift"));
  Write("other.json", peer("other"));
  Write("kernels.json", R"([{"case": "conv", "us": 3}])");
  const Ended faster = bench("--compare other.json,slow.json --fail-below 1 --output ours.json");
  EXPECT_EQ(faster.code, 0) << faster.err;
  EXPECT_TRUE(absl::StrContains(faster.err, "shift strict batch 1: peer 1000000.0000 ms, ours "))
      << faster.err;
  const Ended slower = bench("--compare ours.json --fail-below 1e12");
  EXPECT_EQ(slower.code, 4) << slower.err;
  EXPECT_TRUE(absl::StrContains(slower.err, "ratios below --fail-below 1e+12: 1"));
  const Ended nothing = bench("--compare other.json --output kept.json");
  EXPECT_EQ(nothing.code, 2) << nothing.err;
  EXPECT_TRUE(absl::StrContains(nothing.err, "nothing to compare")) << nothing.err;
  EXPECT_TRUE(std::filesystem::exists(Path("kept.json")));
  ExpectFails(bench("--compare kernels.json"), 2, "kernels.json: expected bench records");
  ExpectFails(bench("--compare none.json"), 2, "none.json");
  ExpectFails(bench("--fail-below 0.9"), 1, "--fail-below: needs --compare");
  ExpectFails(bench("--compare slow.json --fail-below nan"), 1, "--fail-below: expected");
}

TEST_F(ProgramsTest, BenchTimesTwoPartitionersInAlternation) {
  const Ended ended =
      Run(ONNX_CUDNN_BENCH, absl::StrCat(kQuickBench, "--partitioner cost --against greedy"));
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json records = nlohmann::json::parse(ended.out);
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0]["partitioner"], "cost");
  EXPECT_EQ(records[1]["partitioner"], "greedy");
  for (const nlohmann::json& record : records) EXPECT_GT(record["median_ms"], 0);
  EXPECT_TRUE(absl::StrContains(ended.err, "shift strict, batch 1: greedy / cost ")) << ended.err;
  ExpectFails(Run(ONNX_CUDNN_BENCH, absl::StrCat(kQuickBench, "--against best")), 1,
              "--partitioner: expected greedy or cost, found best");
}

}  // namespace
}  // namespace onnx_cudnn
