// SessionOptions::progress.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "tests/session/shifted_relu.h"
#include "tests/support/expect_error.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

struct Report {
  int64_t done, total;
  std::string text;
};
using Reports = std::map<ProgressStage, std::vector<Report>>;

ProgressCallback Note(Reports& reports) {
  return [&reports](const Progress& p) {
    reports[p.stage].push_back({p.done, p.total, std::string(p.text)});
    return true;
  };
}

ProgressCallback RefuseAt(ProgressStage stage) {
  return [stage](const Progress& p) { return p.stage != stage; };
}

Result<Session> Load(const ProgressCallback& progress) {
  return Session::LoadBytes(ModelBytesFromText(kShiftedRelu).value(),
                            {.device = DeviceChoice::kCpu, .progress = progress});
}

Result<std::vector<Tensor>> RunRows(const Session& session, int64_t n) {
  const std::vector<float> x = Rows(n, 3);
  return session.Run({View(x.data(), {n, 4})});
}

void ExpectComplete(const std::vector<Report>& reports) {
  ASSERT_FALSE(reports.empty());
  for (const Report& r : reports) {
    EXPECT_GE(r.done, 0);
    EXPECT_LE(r.done, r.total);
    EXPECT_GE(r.total, 1);
  }
  EXPECT_EQ(reports.back().done, reports.back().total);
}

TEST(ProgressTest, LoadingAndOptimizingAndBuildingTellTheirEnd) {
  Reports reports;
  const Session session = Load(Note(reports)).value();
  ASSERT_EQ(reports.size(), 2u);
  ExpectComplete(reports[ProgressStage::kLoading]);
  EXPECT_EQ(reports[ProgressStage::kLoading][0].text, "Sub");
  EXPECT_EQ(reports[ProgressStage::kLoading].back().total, 2);
  ExpectComplete(reports[ProgressStage::kOptimizing]);
  EXPECT_GT(reports[ProgressStage::kOptimizing].size(), 5u);
  reports.clear();
  ASSERT_TRUE(RunRows(session, 2).ok());
  ASSERT_EQ(reports.size(), 1u);
  ExpectComplete(reports[ProgressStage::kBuilding]);
  reports.clear();
  ASSERT_TRUE(RunRows(session, 2).ok());
  EXPECT_TRUE(reports.empty());
}

TEST(ProgressTest, FalseCancelsLoad) {
  for (const ProgressStage stage : {ProgressStage::kLoading, ProgressStage::kOptimizing}) {
    ExpectError(Load(RefuseAt(stage)), ErrorCode::kCancelled, "cancelled by the progress callback");
  }
}

TEST(ProgressTest, FalseCancelsTheRunThatBuilds) {
  std::atomic<bool> refuse = true;
  const Session session = Load([&](const Progress& p) {
                            return p.stage != ProgressStage::kBuilding || !refuse;
                          }).value();
  ExpectError(RunRows(session, 2), ErrorCode::kCancelled, "cancelled by the progress callback");
  std::vector<float> x = Rows(2, 3), y(8);
  ExpectError(session.Bind({View(x.data(), {2, 4})}, {View(y.data(), {2, 4})}),
              ErrorCode::kCancelled, "cancelled by the progress callback");
  refuse = false;
  EXPECT_EQ(Values(RunRows(session, 2).value()[0]), ShiftedRows(2, 3));
}

// Measured in this process, on the device that behaves like a GPU.
TEST(ProgressTest, TuningIsReportedAndCancelled) {
  std::atomic<bool> refuse = true;
  std::vector<Report> reports;
  const SessionOptions options{.tune_budget_s = 60, .progress = [&](const Progress& p) {
                                 if (p.stage != ProgressStage::kTuning) return true;
                                 reports.push_back({p.done, p.total, std::string(p.text)});
                                 return !refuse;
                               }};
  const Session session = SessionMaker::Make(kShiftedRelu, options).value();
  ExpectError(RunRows(session, 2), ErrorCode::kCancelled, "cancelled by the progress callback");
  EXPECT_EQ(reports.size(), 1u);
  refuse = false;
  reports.clear();
  EXPECT_EQ(Values(RunRows(session, 2).value()[0]), ShiftedRows(2, 3));
}

TEST(ProgressTest, ComesOneCallAtATime) {
  std::atomic<int> inside = 0, calls = 0, overlaps = 0;
  const Session session = Load([&](const Progress&) {
                            overlaps += inside++ > 0;
                            std::this_thread::sleep_for(std::chrono::milliseconds(1));
                            --inside;
                            ++calls;
                            return true;
                          }).value();
  calls = 0;
  std::vector<std::thread> threads;
  for (int t = 1; t <= 3; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t n = t; n < 12; n += 3) EXPECT_TRUE(RunRows(session, n).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(calls, 11);
  EXPECT_EQ(overlaps, 0);
}

}  // namespace
}  // namespace onnx_cudnn
