// The records and reports of onnx-cudnn-bench; the program itself is tested in
// bench_program_test.cc.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/exec/cpu_device.h"
#include "tests/support/forwarding_device.h"
#include "tests/support/session_maker.h"
#include "tests/support/temp_folder.h"
#include "tools/common/bench_compare.h"
#include "tools/common/bench_gpu.h"
#include "tools/common/bench_report.h"

namespace onnx_cudnn {
namespace {

BenchRecord Record(int64_t batch = 32) {
  return {.model = "net",
          .precision = "fp16",
          .partitioner = "greedy",
          .batch = batch,
          .cuda_graph = true,
          .median_ms = 0.3,
          .mean_ms = 0.301,
          .p90_ms = 0.309,
          .p95_ms = 0.31,
          .p99_ms = 0.32,
          .images_per_s = 1000,
          .h2d_ms = 0.1,
          .d2h_ms = 0.01,
          .enqueue_ms = 0.02,
          .commit = "abc"};
}

TEST(BenchReportTest, JsonLeavesOutUnknownValues) {
  const nlohmann::json record = nlohmann::json::parse(RecordsJson({Record()}))[0];
  EXPECT_EQ(record["h2d_ms"], 0.1);
  EXPECT_NEAR(record["noise"], 0.03, 1e-9);
  EXPECT_FALSE(record.contains("clock_mhz"));
  EXPECT_FALSE(record.contains("power_w"));
  EXPECT_FALSE(record.contains("joules"));
}

// Counts on by 3 J whenever it is asked.
class Counts final : public ForwardingDevice {
 public:
  std::optional<double> Joules() const override { return joules_ += 3; }

 private:
  mutable double joules_ = 100;
};

TEST(BenchReportTest, JsonHasTheJoulesOfARun) {
  const Counts counts;
  BenchRecord record = Record();
  record.joules = RunEnergy(&counts).PerRun(/*runs=*/6);
  EXPECT_EQ(nlohmann::json::parse(RecordsJson({record}))[0]["joules"], 0.5);
  const ForwardingDevice counts_none;
  EXPECT_EQ(RunEnergy(&counts_none).PerRun(6), std::nullopt);
  EXPECT_EQ(RunEnergy(nullptr).PerRun(6), std::nullopt);
}

TEST(BenchReportTest, CsvQuotesAndLeavesUnknownValuesEmpty) {
  BenchRecord record = Record();
  record.model = "a,\"b\"";
  const std::vector<std::string> lines = absl::StrSplit(RecordsCsv({record, Record()}), '\n');
  ASSERT_EQ(lines.size(), 4u);  // the last is empty
  EXPECT_TRUE(absl::StartsWith(
      lines[0], "who,model,precision,partitioner,batch,threads,cuda_graph,median_ms"))
      << lines[0];
  EXPECT_TRUE(absl::StartsWith(lines[1], "onnx-cudnn,\"a,\"\"b\"\"\",fp16,greedy,32,1,true,0.3,"))
      << lines[1];
  EXPECT_TRUE(absl::StrContains(lines[2], ",0.1,0.01,0.02,,,")) << lines[2];
  const std::vector<std::string> names = absl::StrSplit(lines[0], ',');
  const std::vector<std::string> cells = absl::StrSplit(lines[2], ',');
  EXPECT_EQ(names.size(), cells.size());
}

TEST(BenchReportTest, TableShowsUnknownValuesAsADash) {
  BenchRecord record = Record();
  record.device = "h200";
  record.driver = "580.1";
  EXPECT_TRUE(absl::StartsWith(TableHeader(record), "device h200, driver 580.1\nmodel "))
      << TableHeader(record);
  const std::vector<std::string> cells =
      absl::StrSplit(TableRow(record), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  EXPECT_EQ(cells, (std::vector<std::string>{"net", "fp16", "32", "1", "0.3000", "0.3010", "0.3090",
                                             "0.3100", "0.3200", "1000", "0.1000", "0.0100",
                                             "0.0200", "3.0", "-", "-", "0.00"}));
}

TEST(BenchAdviceTest, NoneWhereNothingIsWrong) {
  EXPECT_TRUE(AdviceFor({Record()}).empty());
  BenchRecord cpu = Record();
  cpu.cuda_graph = false;
  cpu.h2d_ms = cpu.d2h_ms = cpu.enqueue_ms = std::nullopt;
  EXPECT_TRUE(AdviceFor({cpu}).empty());
}

TEST(BenchAdviceTest, CopiesOfMoreThanHalfOfTheRun) {
  BenchRecord record = Record();
  record.h2d_ms = 0.21;
  record.d2h_ms = 0.16;
  EXPECT_EQ(AdviceFor({record}),
            (std::vector<std::string>{
                "net fp16 batch 32: bound by H2D copies: 0.210 ms beside 0.300 ms of compute; keep "
                "inputs on the device or send f16 or u8",
                "net fp16 batch 32: bound by D2H copies: 0.160 ms beside 0.300 ms of compute; keep "
                "outputs on the device or return less"}));
}

TEST(BenchAdviceTest, LaunchesByWhetherThereIsAGraph) {
  BenchRecord record = Record();
  record.enqueue_ms = 0.29;  // a graph's launch is no part of the median
  EXPECT_TRUE(AdviceFor({record}).empty());
  record.enqueue_ms = 0.31;
  EXPECT_EQ(AdviceFor({record}),
            (std::vector<std::string>{"net fp16 batch 32: bound by launches: 0.310 ms to launch a "
                                      "run of 0.300 ms; a larger batch gives a launch more work"}));
  record.cuda_graph = false;
  record.enqueue_ms = 0.25;
  EXPECT_EQ(AdviceFor({record}),
            (std::vector<std::string>{"net fp16 batch 32: bound by launches: 0.250 ms to launch a "
                                      "run of 0.300 ms; use CUDA graphs: leave out "
                                      "--no-cuda-graph"}));
  record.graph_note = "If runs on the host";
  EXPECT_TRUE(absl::EndsWith(AdviceFor({record})[0], "; no CUDA graph: If runs on the host"));
}

TEST(BenchAdviceTest, NoiseAboveFivePercent) {
  BenchRecord record = Record();
  record.p90_ms = 0.336;
  const std::vector<std::string> advice = AdviceFor({record});
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_TRUE(absl::StrContains(advice[0], "noisy: p90 is 12 % above the median")) << advice[0];
}

TEST(BenchAdviceTest, LargerBatchWhereImagesPerSecondStillGrow) {
  BenchRecord one = Record(1), large = Record(64), middle = Record(32);
  large.images_per_s = 1200;
  one.images_per_s = 100;
  EXPECT_EQ(
      AdviceFor({large, one, middle}),
      (std::vector<std::string>{"net fp16: images/s still grows, 1000 at batch 32 and 1200 at "
                                "64: try a larger batch"}));
  large.images_per_s = 1050;
  EXPECT_TRUE(AdviceFor({large, one, middle}).empty());
  // Not measured, as by --against.
  large.images_per_s = one.images_per_s = middle.images_per_s = 0;
  EXPECT_TRUE(AdviceFor({large, one, middle}).empty());
  EXPECT_FALSE(absl::StrContains(TableRow(one), " 0 ")) << TableRow(one);
}

TEST(BenchCompareTest, RatioIsTheirsOverOurs) {
  const auto theirs = RecordsFromJson(R"([
      {"who": "torch", "model": "net", "precision": "fp16", "batch": 32, "median_ms": 0.6},
      {"who": "old", "commit": "c0", "model": "net", "precision": "fp16", "batch": 32,
       "median_ms": 0.27},
      {"who": "torch-compile", "model": "net", "precision": "fp16", "batch": 32,
       "error": "too slow"},
      {"who": "torch", "model": "net", "precision": "tf32", "batch": 32, "median_ms": 9}])");
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  const auto pairs = CompareRecords({Record(1), Record(32)}, *theirs);
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  ASSERT_EQ(pairs->size(), 2u);
  EXPECT_DOUBLE_EQ((*pairs)[0].ratio(), 2);
  EXPECT_EQ(ComparisonText((*pairs)[0]),
            "net fp16 batch 32: torch 0.6000 ms, ours 0.3000 ms, ratio 2.000\n");
  EXPECT_EQ(ComparisonText((*pairs)[1]),
            "net fp16 batch 32: old (c0) 0.2700 ms, ours 0.3000 ms, ratio 0.900\n");
}

TEST(BenchCompareTest, ReadsWhatItWrites) {
  const auto records = RecordsFromJson(RecordsJson({Record()}));
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ(CompareRecords({Record()}, *records)->front().ratio(), 1);
}

TEST(BenchCompareTest, NothingInCommonIsAnError) {
  const auto pairs = CompareRecords({Record(1)}, {Record(2), Record(3)});
  EXPECT_EQ(pairs.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(pairs.status().message(),
                                "of the 1 records measured is among the 2 of --compare"))
      << pairs.status();
}

TEST(BenchCompareTest, OtherFormsAreErrors) {
  const auto error = [](std::string_view text) {
    return std::string(RecordsFromJson(text).status().message());
  };
  EXPECT_EQ(error("median_ms"), "not JSON");
  EXPECT_EQ(error("{}"), "expected a list of bench records, found a JSON object");
  EXPECT_TRUE(absl::StrContains(error("[7]"), "\"who\" is missing or wrong in record 0"))
      << error("[7]");
  const std::string start = R"([{"who": "a", "model": "m", "precision": "p", "batch": 1)";
  EXPECT_TRUE(absl::StrContains(error(start + "}]"), "\"median_ms\" is missing"));
  EXPECT_TRUE(
      absl::StrContains(error(start + R"(, "median_ms": 0}])"), "\"median_ms\" is missing"));
  EXPECT_TRUE(absl::StrContains(error(R"([{"who": "a", "model": "m", "precision": "p",
      "batch": 1.5, "median_ms": 1}])"),
                                "\"batch\" is missing or wrong in record 0"));
}

TEST(BenchCompareTest, ErrorsNameTheFile) {
  const TempFolder folder;
  const std::string path = folder.Write("kernels.json", R"([{"case": "conv", "us": 3}])");
  EXPECT_TRUE(absl::StrContains(ReadRecords({path}).status().message(), "kernels.json: expected"));
  EXPECT_EQ(ReadRecords({folder.path("none.json")}).status().code(), absl::StatusCode::kNotFound);
}

TEST(BenchGpuTest, CopiesLeaveTheTensorsAsTheyAre) {
  const std::unique_ptr<Device> device = MakeCpuDevice({.like_a_gpu = true});
  std::vector<Tensor> tensors;
  for (const int64_t elements : {int64_t{1} << 20, int64_t{0}, int64_t{3}}) {
    tensors.push_back(Tensor::Allocate(DType::kF32, {elements}).value());
    for (int64_t i = 0; i < elements; ++i) tensors.back().data<float>()[i] = static_cast<float>(i);
  }
  const absl::StatusOr<CopyTimes> times = TimeCopies(*device, tensors);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_GT(times->to_host_ms, 0);
  EXPECT_GT(times->to_device_ms, 0);
  EXPECT_EQ(tensors[0].data<float>()[(1 << 20) - 1], (1 << 20) - 1);
  EXPECT_EQ(tensors[2].data<float>()[2], 2);
  EXPECT_EQ(TimeCopies(*device, {})->to_host_ms, 0);
}

TEST(BenchGpuTest, EnqueuedRunsAreWaitedForAtTheEnd) {
  int some_stream;  // any address stands for one
  absl::StatusOr<Session> session = SessionMaker::Make(
      "g (float[N] x) => (float[N] y) <float one = {1}> { y = Add(x, one) }", {});
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<float> zeros(4);
  const Tensor x = session->ToDevice(View(zeros.data(), {4})).value();
  const Tensor y = session->ToDevice(View(zeros.data(), {4})).value();
  Binding binding = session->Bind({x.view()}, {y.view()}).value();
  const absl::StatusOr<double> ms = TimeEnqueue(binding, &some_stream, /*runs=*/3);
  ASSERT_TRUE(ms.ok()) << ms.status();
  EXPECT_GT(*ms, 0);
  EXPECT_EQ(session->ToHost(y).value().data<float>()[3], 1);
}

TEST(BenchGpuTest, ParsesClockAndPower) {
  EXPECT_EQ(ParseGpuState("1980, 512.33\n").clock_mhz, 1980);
  EXPECT_EQ(ParseGpuState("1980, 512.33\n").power_w, 512.33);
  EXPECT_EQ(ParseGpuState("1980, [N/A]\n").clock_mhz, 1980);
  EXPECT_EQ(ParseGpuState("1980, [N/A]\n").power_w, std::nullopt);
  EXPECT_EQ(ParseGpuState("No devices were found\n").clock_mhz, std::nullopt);
}

// A program named nvidia-smi that prints the requested GPU as the clock.
class NvidiaSmiTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteProgram("while [ \"$1\" != -i ]; do shift; done\necho \"$2, 100.5\"\n");
    Set("PATH", absl::StrCat(folder_.path(), ":", old_path_));
  }
  void TearDown() override {
    Set("PATH", old_path_);
    if (old_visible_.has_value()) {
      Set("CUDA_VISIBLE_DEVICES", *old_visible_);
    } else {
      unsetenv("CUDA_VISIBLE_DEVICES");
    }
  }
  void WriteProgram(std::string_view body) const {
    const std::string program = folder_.Write("nvidia-smi", absl::StrCat("#!/bin/sh\n", body));
    ASSERT_EQ(chmod(program.c_str(), 0755), 0);
  }
  static void Set(const char* name, const std::string& value) {
    setenv(name, value.c_str(), /*overwrite=*/1);
  }
  static std::optional<std::string> Get(const char* name) {
    const char* value = getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }

  const TempFolder folder_;
  const std::string old_path_ = Get("PATH").value_or("");
  const std::optional<std::string> old_visible_ = Get("CUDA_VISIBLE_DEVICES");
};

TEST_F(NvidiaSmiTest, IsQueriedForTheFirstVisibleGpu) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(ReadGpuState().clock_mhz, 0);
  Set("CUDA_VISIBLE_DEVICES", "3,1");
  EXPECT_EQ(ReadGpuState().clock_mhz, 3);
  EXPECT_EQ(ReadGpuState().power_w, 100.5);
}

TEST_F(NvidiaSmiTest, IsNotQueriedForWhatIsNoGpu) {
  for (const char* visible : {"", "$(echo 3)", "3;echo"}) {
    Set("CUDA_VISIBLE_DEVICES", visible);
    EXPECT_EQ(ReadGpuState().clock_mhz, std::nullopt) << visible;
  }
}

TEST_F(NvidiaSmiTest, ValuesAreUnknownIfItFails) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  WriteProgram("echo '1980, 100'\nexit 9\n");
  EXPECT_EQ(ReadGpuState().clock_mhz, std::nullopt);
}

}  // namespace
}  // namespace onnx_cudnn
