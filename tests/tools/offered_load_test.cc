// Loads of requests at random times.
#include "tools/common/offered_load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "onnx_cudnn/version.h"
#include "runtime/base/file.h"
#include "tests/support/session_maker.h"
#include "tests/tools/programs_fixture.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {
namespace {

TEST(PoissonArrivalsTest, HaveTheRateAndItsSpread) {
  const std::vector<double> arrivals = PoissonArrivals(1000, 20, 7);
  EXPECT_NEAR(static_cast<double>(arrivals.size()), 20000, 600);  // four deviations
  EXPECT_TRUE(std::is_sorted(arrivals.begin(), arrivals.end()));
  EXPECT_LT(arrivals.back(), 20);
  double sum = 0, squares = 0;
  for (size_t i = 1; i < arrivals.size(); ++i) {
    const double gap = arrivals[i] - arrivals[i - 1];
    sum += gap;
    squares += gap * gap;
  }
  const double mean = sum / static_cast<double>(arrivals.size() - 1);
  EXPECT_NEAR(mean, 1e-3, 4e-5);
  // Gaps of an exponential distribution deviate by their mean.
  EXPECT_NEAR(squares / static_cast<double>(arrivals.size() - 1), 2e-6, 2e-7);
  EXPECT_EQ(PoissonArrivals(1000, 20, 7), arrivals);
  EXPECT_NE(PoissonArrivals(1000, 20, 8), arrivals);
}

TEST(OfferLoadTest, LatenciesCountFromTheArrival) {
  // The first one holds this thread, so that the second starts late.
  const std::vector<double> arrivals = {0, 0.001};
  int submitted = 0;
  const ServedLoad served = OfferLoad(arrivals, [&](RequestEnded ended) {
    if (++submitted == 1) absl::SleepFor(absl::Milliseconds(30));
    ended(absl::OkStatus());
  });
  ASSERT_EQ(served.latencies_ms.size(), 2u);
  EXPECT_GE(served.latencies_ms[0], 30);
  EXPECT_GE(served.latencies_ms[1], 29);
  EXPECT_GE(served.seconds, 0.03);
}

TEST(OfferLoadTest, RefusalsAndFailuresAreCounted) {
  const std::vector<double> arrivals(5, 0.0);
  int submitted = 0;
  std::vector<std::jthread> threads;
  const ServedLoad served = OfferLoad(arrivals, [&](RequestEnded ended) {
    const int i = submitted++;
    threads.emplace_back([i, ended = std::move(ended)] {
      ended(i < 2    ? absl::ResourceExhaustedError("full")
            : i == 2 ? absl::InternalError("broken")
                     : absl::OkStatus());
    });
  });
  EXPECT_EQ(served.refused, 2);
  EXPECT_EQ(served.failed, 1);
  EXPECT_EQ(served.first_error.message(), "broken");
  EXPECT_EQ(served.latencies_ms.size(), 2u);
}

TEST(LoadRecordTest, KeepsUpIfNearlyAllIsServedInTime) {
  const LoadRecord record{.offered_qps = 100, .arrived_qps = 90, .achieved_qps = 87};
  EXPECT_TRUE(record.KeepsUp());
  const auto with = [&](auto change) {
    LoadRecord other = record;
    change(other);
    return other.KeepsUp();
  };
  EXPECT_FALSE(with([](LoadRecord& r) { r.achieved_qps = 85; }));
  EXPECT_FALSE(with([](LoadRecord& r) { r.refused = 1; }));
  EXPECT_FALSE(with([](LoadRecord& r) { r.failed = 1; }));
}

// Of requests of one row that two devices run two at a time.
TEST(WarmUpForLoadTest, EachDeviceHasCapturedWhatALoadRuns) {
  std::vector<OpenedDevice> opened;
  for (int i = 0; i < 2; ++i) {
    opened.push_back(SessionMaker::Open().value());
    opened.back().ordinal = i;
  }
  const Session session = SessionMaker::Make("g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }",
                                             {}, std::move(opened))
                              .value();
  const std::vector<ModelInput> made = MakeInputs(session.inputs(), {.batch = 1}).value();
  ASSERT_TRUE(WarmUpForLoad(session, made, /*max_batch=*/5, /*runs_at_once=*/4).ok());
  EXPECT_EQ(session.stats().programs_built, 2 * 4);  // 1, 2, 4 and 5 rows
  EXPECT_EQ(session.stats().graph_captures, 2 * 4 * 2);
  const std::vector<float> x(2 * 5, 1);
  for (const int64_t rows : {1, 2, 4, 5}) {
    for (int run = 0; run < 4; ++run) ASSERT_TRUE(session.Run({View(x.data(), {rows, 2})}).ok());
  }
  EXPECT_EQ(session.stats().programs_built, 2 * 4);
  EXPECT_EQ(session.stats().graph_captures, 2 * 4 * 2);
}

constexpr std::string_view kLoads = "shift.onnx --device cpu --precisions strict --seconds 0.3 ";

TEST_F(ProgramsTest, BenchOffersLoads) {
  for (const char* flags : {"", "--max-batch 8 --max-delay 2"}) {
    const Ended ended =
        Run(ONNX_CUDNN_BENCH, absl::StrCat(kLoads, "--qps 100,400 --run here ", flags));
    ASSERT_EQ(ended.code, 0) << ended.err;
    const nlohmann::json records = nlohmann::json::parse(ended.out);
    ASSERT_EQ(records.size(), 2u);
    const nlohmann::json& record = records[1];
    EXPECT_EQ(record["offered_qps"], 400);
    EXPECT_EQ(record["run"], "here");
    EXPECT_EQ(record["max_batch"], *flags == '\0' ? 0 : 8);
    EXPECT_EQ(record["refused"], 0);
    EXPECT_EQ(record["failed"], 0);
    EXPECT_GT(record["requests"], 40);
    EXPECT_GT(record["achieved_qps"], 0);
    EXPECT_GT(record["p50_ms"], 0);
    EXPECT_GE(record["p99_ms"], record["p50_ms"]);
    EXPECT_GE(record["max_ms"], record["p99_ms"]);
    EXPECT_GE(record["mean_batch"], 1);
    const std::string sizes = *flags == '\0' ? "1\n" : "1, 2, 4, 8\n";
    EXPECT_TRUE(absl::StrContains(ended.err, "warming batches " + sizes)) << ended.err;
    const std::string commit = Version().commit;
    EXPECT_EQ(record["commit"], commit.empty() ? "unknown" : commit);
    EXPECT_TRUE(absl::StrContains(ended.err, " offered/s ")) << ended.err;
  }
}

TEST_F(ProgramsTest, BenchFindsTheLargestLoad) {
  const Ended ended = Run(ONNX_CUDNN_BENCH,
                          "shift.onnx --device cpu --precisions strict "
                          "--seconds 0.05 --p99 1000 --output loads.json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(absl::StrContains(ended.err, "largest load within 1000 ms: ")) << ended.err;
  const nlohmann::json records = nlohmann::json::parse(*ReadFile(Path("loads.json"), 1 << 20));
  ASSERT_GE(records.size(), 2u);
  EXPECT_TRUE(records.back()["keeps_up"].get<bool>());
  EXPECT_LE(records.back()["p99_ms"], 1000);
  const Ended none = Run(ONNX_CUDNN_BENCH, absl::StrCat(kLoads, "--p99 1e-6"));
  EXPECT_EQ(none.code, 6);
  EXPECT_TRUE(absl::StrContains(none.err, "no load of")) << none.err;
}

TEST_F(ProgramsTest, BenchNamesWrongLoads) {
  const auto expect = [&](std::string_view flags, std::string_view text) {
    ExpectFails(Run(ONNX_CUDNN_BENCH, absl::StrCat(kLoads, flags)), 1, text);
  };
  expect("--qps 0", "--qps: expected numbers above 0");
  expect("--qps 10 --p99 5", "expected one of them");
  expect("--max-batch 4", "--max-batch: needs --qps or --p99");
  expect("--qps 10 --batches 1,2", "expected one model, precision and batch");
  expect("--qps 10 --max-batch -1", "--max-batch, --max-delay: expected 0 or more");
}

}  // namespace
}  // namespace onnx_cudnn
