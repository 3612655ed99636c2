// Workers that are shell scripts: whatever they do, MeasureInWorker returns.
#include "runtime/tune/worker_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <atomic>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/file.h"
#include "runtime/tune/plan_cache.h"
#include "runtime/tune/worker_lines.h"
#include "tests/support/temp_folder.h"

namespace onnx_cudnn {
namespace {

std::string Trying(int id, std::string_view variant) {
  return absl::StrCat("echo '{\"trying\": ", id,
                      ", \"device\": \"h200\", \"signature\": \"conv\", \"engine\": \"cudnn\", "
                      "\"variant\": \"",
                      variant, "\", \"version\": \"9.19.0\"}'\n");
}
constexpr char kDone[] = "echo '{\"done\": true}'\n";

// Whether a note contains `text`.
bool Says(const WorkerReport& report, std::string_view text) {
  return absl::StrContains(absl::StrJoin(report.notes, "\n"), text);
}
#define EXPECT_SAYS(report, text) \
  EXPECT_TRUE(Says(report, text)) << absl::StrJoin((report).notes, "\n")

class WorkerTest : public testing::Test {
 protected:
  // Runs a script; its first start runs `first`, later ones `later`.
  WorkerReport Measure(std::string_view first, std::string_view later = kDone) {
    const std::string text = absl::StrCat(
        "#!/bin/sh\necho \"$4\" >>", folder_.path("starts"), "\nif [ -e ", folder_.path("began"),
        " ]; then\n:\n", later, "\nelse\n: >", folder_.path("began"), "\n", first, "\nfi\n");
    request_.program = folder_.Write("worker", text);
    EXPECT_EQ(chmod(request_.program.c_str(), 0700), 0);
    return Measure();
  }
  WorkerReport Measure() {
    const absl::Time start = absl::Now();
    absl::StatusOr<WorkerReport> report = MeasureInWorker(request_);
    EXPECT_LT(absl::Now() - start, absl::Seconds(30));
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : WorkerReport();
  }
  void ExpectTriedNothing(std::string_view script, bool served, std::string_view why) {
    const WorkerReport report = Measure(script);
    EXPECT_EQ(report.served, served);
    EXPECT_SAYS(report, absl::StrCat("tried nothing: ", why));
  }
  // The modes of the starts, e.g. "parallel one-at-a-time".
  std::string Starts() const {
    std::vector<std::string> lines =
        absl::StrSplit(*ReadFile(folder_.path("starts"), 1 << 20), '\n', absl::SkipEmpty());
    return absl::StrJoin(lines, " ");
  }
  FailedVariants Failed() const {
    const auto file = ReadPlanFile(request_.plan_cache);
    return file.ok() ? file->failed : FailedVariants();
  }

  const TempFolder folder_;
  WorkerRequest request_{.job = folder_.path("job.json"),
                         .plan_cache = folder_.path("plans.json"),
                         .budget_s = 60,
                         .quiet_s = 0.5,
                         .patience_s = 20};
};

TEST_F(WorkerTest, ReportsWhatItMeasured) {
  std::vector<std::pair<int64_t, int64_t>> heard;
  request_.progress = [&](int64_t done, int64_t total) { heard.emplace_back(done, total); };
  const WorkerReport report = Measure(absl::StrCat(
      Trying(1, "a"), "echo '{\"tried\": 1}'\necho '{\"progress\": [8, 12]}'\n",
      "echo '{\"progress\": [12, 12]}'\necho '{\"note\": \"b: not checked\"}'\n", kDone));
  EXPECT_TRUE(report.served);
  EXPECT_EQ(report.signatures, 12);
  EXPECT_GT(report.seconds, 0);
  EXPECT_EQ(report.notes, std::vector<std::string>{"b: not checked"});
  EXPECT_EQ(heard, (std::vector<std::pair<int64_t, int64_t>>{{8, 12}, {12, 12}}));
  EXPECT_EQ(Starts(), "parallel");
  EXPECT_TRUE(Failed().empty());
}

TEST_F(WorkerTest, GetsItsFilesAndTheBudget) {
  const WorkerReport report =
      Measure(absl::StrCat("echo \"{\\\"note\\\": \\\"$1 $2 ${3%.*}\\\"}\"\n", kDone));
  ASSERT_EQ(report.notes.size(), 1u);
  const std::vector<std::string> said = absl::StrSplit(report.notes[0], ' ');
  EXPECT_EQ(said[0], request_.job);
  EXPECT_EQ(said[1], request_.plan_cache);
  EXPECT_TRUE(said[2] == "59" || said[2] == "60") << said[2];
}

TEST_F(WorkerTest, TheNextWorkerGetsWhatIsLeftOfTheBudget) {
  const std::string note = "echo \"{\\\"note\\\": \\\"$3\\\"}\"\n";
  const WorkerReport report =
      Measure(absl::StrCat(note, "sleep 0.3\n", Trying(1, "a"), "kill -SEGV $$\n"),
              absl::StrCat(note, kDone));
  ASSERT_EQ(report.notes.size(), 3u);  // with the crash
  double first_s = 0, next_s = 0;
  ASSERT_TRUE(absl::SimpleAtod(report.notes.front(), &first_s));
  ASSERT_TRUE(absl::SimpleAtod(report.notes.back(), &next_s));
  EXPECT_LE(first_s, 60);
  EXPECT_LE(next_s, first_s - 0.29);
}

TEST_F(WorkerTest, AnAbsentProgramDoesNotServe) {
  request_.program = folder_.path("none");
  const WorkerReport report = Measure();
  EXPECT_FALSE(report.served);
  EXPECT_SAYS(report, "none cannot be started: No such file");
}

TEST_F(WorkerTest, WhatIsNoProgramDoesNotServe) {
  request_.program = folder_.Write("text", "\x01 no program");
  ASSERT_EQ(chmod(request_.program.c_str(), 0700), 0);
  const WorkerReport report = Measure();
  EXPECT_FALSE(report.served);
  EXPECT_SAYS(report, "cannot be started");
}

TEST_F(WorkerTest, OneThatEndsBeforeItTriesDoesNotServe) {
  ExpectTriedNothing("echo '{\"error\": \"no GPU here\"}'\nexit 5\n", /*served=*/false,
                     "no GPU here");
  EXPECT_EQ(Starts(), "parallel");
}

TEST_F(WorkerTest, ACrashBeforeItTriesIsNotRepeatedInTheCaller) {
  ExpectTriedNothing("kill -SEGV $$\n", /*served=*/true, "signal 11");
}

TEST_F(WorkerTest, AVariantThatCrashesIsNotedAndTheNextWorkerGoesOn) {
  const WorkerReport report =
      Measure(absl::StrCat(Trying(1, "a"), "echo '{\"tried\": 1}'\n", Trying(2, "b"),
                           "echo '{\"progress\": [3, 9]}'\nkill -SEGV $$\n"),
              absl::StrCat("echo '{\"progress\": [6, 6]}'\n", kDone));
  EXPECT_TRUE(report.served);
  EXPECT_EQ(report.signatures, 9);
  EXPECT_SAYS(report, "cudnn b: crashed: signal 11");
  EXPECT_EQ(Starts(), "parallel parallel");
  const FailedVariants failed = Failed();
  ASSERT_EQ(failed.size(), 1u);
  const FailedVariant& b = failed.at({"h200", "conv", "b"});
  EXPECT_EQ(b.how, kCrashed);
  EXPECT_EQ(b.engine, "cudnn");
  EXPECT_EQ(b.engine_version, "9.19.0");
  EXPECT_EQ(b.date.size(), 10u);
}

TEST_F(WorkerTest, ALostDeviceIsTheVariantsThatWasTried) {
  const WorkerReport report =
      Measure(absl::StrCat(Trying(1, "a"), "echo '{\"error\": \"the device is lost\"}'\nexit 5\n"));
  EXPECT_TRUE(report.served);
  EXPECT_EQ(Failed().at({"h200", "conv", "a"}).why, "the device is lost");
}

TEST_F(WorkerTest, AnErrorOutsideOfTrialsEndsIt) {
  const WorkerReport report = Measure(absl::StrCat(
      Trying(1, "a"), "echo '{\"tried\": 1}'\necho '{\"error\": \"too large\"}'\nexit 6\n"));
  EXPECT_TRUE(report.served);
  EXPECT_FALSE(report.gave_up);
  EXPECT_EQ(report.notes, std::vector<std::string>{"the worker program: too large"});
  EXPECT_EQ(Starts(), "parallel");
  EXPECT_TRUE(Failed().empty());
}

TEST_F(WorkerTest, AVariantThatHangsIsNotedAndKilled) {
  const std::string pid_file = folder_.path("pid");
  const WorkerReport report =
      Measure(absl::StrCat("echo $$ >", pid_file, "\n", Trying(1, "a"), "exec sleep 60\n"));
  EXPECT_TRUE(report.served);
  int pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(*ReadFile(pid_file, 100), &pid));
  EXPECT_EQ(kill(pid, 0), -1);  // there is no such process
  EXPECT_SAYS(report, "cudnn a: hung");
  EXPECT_GE(report.seconds, 0.5);
  EXPECT_LT(report.seconds, 10);  // killed after quiet_s, not after patience_s
  EXPECT_EQ(Failed().at({"h200", "conv", "a"}).how, kHung);
  EXPECT_EQ(Starts(), "parallel parallel");
}

TEST_F(WorkerTest, OneThatHangsWhileItLoadsIsKilled) {
  request_.patience_s = 0.5;
  ExpectTriedNothing("exec sleep 60\n", /*served=*/true, "it said nothing more");
}

TEST_F(WorkerTest, OneThatIsCancelledIsKilledAndNothingIsNoted) {
  const std::atomic<bool> cancel = true;
  request_.cancel = &cancel;
  request_.quiet_s = request_.patience_s = 20;
  const WorkerReport report = Measure(absl::StrCat(Trying(1, "a"), "exec sleep 60\n"));
  EXPECT_TRUE(report.served);
  EXPECT_LT(report.seconds, 10);
  EXPECT_TRUE(report.notes.empty());
  EXPECT_TRUE(Failed().empty());
}

TEST_F(WorkerTest, AmongSeveralTheOneIsFoundOneAtATime) {
  const WorkerReport report =
      Measure(absl::StrCat(Trying(1, "a"), Trying(2, "b"), "kill -KILL $$\n"),
              absl::StrCat("if [ $(wc -l <", folder_.path("starts"), ") = 2 ]; then\n",
                           Trying(1, "b"), "kill -ABRT $$\nfi\n", kDone));
  EXPECT_TRUE(report.served);
  EXPECT_SAYS(report, "while 2 variants were being tried: signal 9");
  EXPECT_SAYS(report, "cudnn b: crashed: signal 6");
  EXPECT_EQ(Starts(), "parallel one-at-a-time one-at-a-time");
  EXPECT_EQ(Failed().size(), 1u);
}

TEST_F(WorkerTest, NonsenseIsSaidAndSkipped) {
  const WorkerReport report = Measure(
      absl::StrCat("echo 'cuDNN says hello'\necho '[1]'\necho '{}'\necho '{\"tried\": 77}'\n",
                   "echo '{\"progress\": [\"x\", 1, 2]}'\necho '{\"progress\": [2, 2]}'\n", kDone));
  EXPECT_TRUE(report.served);
  EXPECT_EQ(report.signatures, 2);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_SAYS(report, "no line of its protocol: \"cuDNN says hello\"");
}

TEST_F(WorkerTest, NonsenseIsNoSignOfLife) {
  request_.patience_s = 0.5;
  const WorkerReport report = Measure("while :; do echo x; done\n");
  EXPECT_TRUE(report.served);
  EXPECT_SAYS(report, "said nothing more");
}

TEST_F(WorkerTest, HalfALineIsNone) {
  ExpectTriedNothing("printf '{\"done\": tr'\nexit 3\n", /*served=*/false, "it ended with code 3");
}

TEST_F(WorkerTest, DyingAmidALineBlamesWhatWasTried) {
  const WorkerReport report =
      Measure(absl::StrCat(Trying(1, "a"), "printf '{\"tried\": '\nkill -SEGV $$\n"));
  EXPECT_TRUE(report.served);
  EXPECT_EQ(Failed().at({"h200", "conv", "a"}).how, kCrashed);
}

TEST_F(WorkerTest, GivesUpAfterFourThatDie) {
  const std::string dies = absl::StrCat(Trying(1, "$$"), "kill -SEGV $$\n");
  const WorkerReport report = Measure(dies, dies);
  EXPECT_TRUE(report.served);
  EXPECT_TRUE(report.gave_up);
  EXPECT_SAYS(report, "after 4 worker programs that ended early no more is measured");
  EXPECT_EQ(Starts(), "parallel parallel parallel parallel");
}

TEST_F(WorkerTest, StartsNoneWithoutTimeLeft) {
  request_.budget_s = 0.1;
  const WorkerReport report = Measure(absl::StrCat(Trying(1, "a"), "exec sleep 60\n"));
  EXPECT_TRUE(report.served);
  EXPECT_EQ(Starts(), "parallel");
}

TEST_F(WorkerTest, APlanCacheThatCannotBeWrittenIsAnError) {
  request_.program =
      folder_.Write("worker", absl::StrCat("#!/bin/sh\n", Trying(1, "a"), "kill -SEGV $$\n"));
  ASSERT_EQ(chmod(request_.program.c_str(), 0700), 0);
  request_.plan_cache = folder_.Write("broken.json", "{");
  EXPECT_EQ(MeasureInWorker(request_).status().code(), absl::StatusCode::kInvalidArgument);
}

// MeasureInWorker understands what WorkerLines writes.
TEST_F(WorkerTest, BothSidesUseOneFormat) {
  const std::string path = folder_.path("lines");
  {
    WorkerLines lines(Descriptor(open(path.c_str(), O_WRONLY | O_CREAT, 0600)));
    const TuneObserver observer = lines.Observer();
    observer.trying(1, {.signature = "other"});
    observer.trying(2, {.device = "h200",
                        .signature = "a\n\"b\" \xff",
                        .engine = "gemm",
                        .variant = "split_k=4",
                        .engine_version = "7"});
    observer.tried(1);
    observer.progress(3, 4);
    lines.Error("line 1\nline 2");
  }
  const WorkerReport report = Measure(absl::StrCat("cat ", path, "\nexit 7\n"));
  EXPECT_EQ(report.signatures, 3);
  EXPECT_SAYS(report, "gemm split_k=4: crashed: line 1\nline 2");
  const FailedVariants failed = Failed();
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_TRUE(absl::StartsWith(failed.begin()->second.signature, "a\n\"b\" "));

  const std::string second = folder_.path("second");
  {
    WorkerLines lines(Descriptor(open(second.c_str(), O_WRONLY | O_CREAT, 0600)));
    lines.Done({.notes = {"one", "two"}});
  }
  const WorkerReport done = Measure("", absl::StrCat("cat ", second));
  EXPECT_TRUE(done.served);
  EXPECT_EQ(done.notes, (std::vector<std::string>{"one", "two"}));
}

}  // namespace
}  // namespace onnx_cudnn
