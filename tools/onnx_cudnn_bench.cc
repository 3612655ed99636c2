// onnx-cudnn-bench: measures a model and writes records as tools/bench/results holds them.
#include <iostream>

#include "absl/flags/flag.h"
#include "absl/random/random.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "tools/common/bench.h"
#include "tools/common/exit_codes.h"
#include "tools/common/flags.h"
#include "tools/common/plan_flags.h"

ABSL_FLAG(std::vector<std::string>, batches, {"1"},
          "Batches: extent 0 of every input whose own is no number.");
ABSL_FLAG(std::vector<std::string>, precisions, {"auto"},
          "How exact f32 arithmetic is: auto, strict, tf32, fp16, bf16.");
ABSL_FLAG(std::string, device, "auto", "auto (a GPU where there is one), cpu or cuda.");
ABSL_FLAG(std::string, partitioner, "greedy", onnx_cudnn::kPartitionerHelp);
ABSL_FLAG(double, tune_budget, 0, onnx_cudnn::kTuneBudgetHelp);
ABSL_FLAG(std::string, plan_cache, "", onnx_cudnn::kPlanCacheHelp);
ABSL_FLAG(int, streams, 0,
          "Streams over which independent steps are spread. 0: two on a GPU, else one.");
ABSL_FLAG(bool, no_cuda_graph, false, "On a GPU: launches every step in every run.");
ABSL_FLAG(int, runs, 200, "Runs that are timed one at a time.");
ABSL_FLAG(double, warm_up, 500, "Milliseconds of runs before those.");
ABSL_FLAG(double, seconds, 3, "Of runs back to back, for the images per second.");
ABSL_FLAG(std::string, output, "", "The JSON file; standard output without it.");
ABSL_FLAG(std::string, commit, "unknown", "Of the records: what was built.");
ABSL_FLAG(std::string, run, "", "Of the records: the id of this run and its peers'; random.");

namespace onnx_cudnn {
namespace {

constexpr std::string_view kTool = "onnx-cudnn-bench";
constexpr std::string_view kUsage =
    R"(onnx-cudnn-bench MODEL... [flags]: measures models, with data on the device.

  onnx-cudnn-bench models/resnet50.onnx --precisions fp16 --batches 1,32,256 --output results.json
  onnx-cudnn-bench models/resnet18.onnx models/resnet50.onnx --precisions fp16,tf32 --batches 1,8 \
    --commit $(git rev-parse --short HEAD) --run 2026-11-22a

Writes one JSON list of records {who, model, precision, batch, median_ms, p99_ms, images_per_s, setup_s, context_s,
  tune_s, tuned_signatures, cached_signatures, peak_bytes, device, driver, cuda, cudnn, commit, date, run}. median_ms and
  p99_ms are of runs one at a time, by the GPU's clock around a replay of the CUDA graph (the host's around a run
  elsewhere); images_per_s of runs back to back; setup_s from opening the file to the first result, of which context_s
  made the CUDA context and tune_s measured tuned_signatures (cached_signatures were in the plan cache); peak_bytes
  weights, arena, inputs and outputs.

Exit codes: 0 done, 1 usage, 2 model or input invalid, 3 valid but not supported, 5 device or library missing,
  6 out of memory, 7 internal.)";

struct Options {
  std::vector<std::string> models;
  std::vector<int64_t> batches;
  std::vector<PrecisionChoice> precisions;
  BenchRequest request;  // less the model, batch and precision
  std::string output, commit, run;
};

absl::StatusOr<Options> OptionsFromFlags(const std::vector<std::string>& models) {
  if (models.empty()) return absl::InvalidArgumentError("expected a model file, see --help");
  Options options{.models = models,
                  .request = {.session = {.tune_budget_s = absl::GetFlag(FLAGS_tune_budget),
                                          .plan_cache = absl::GetFlag(FLAGS_plan_cache),
                                          .streams = absl::GetFlag(FLAGS_streams),
                                          .cuda_graph = !absl::GetFlag(FLAGS_no_cuda_graph)},
                              .runs = absl::GetFlag(FLAGS_runs),
                              .warm_up_ms = absl::GetFlag(FLAGS_warm_up),
                              .seconds = absl::GetFlag(FLAGS_seconds)},
                  .output = absl::GetFlag(FLAGS_output),
                  .commit = absl::GetFlag(FLAGS_commit),
                  .run = absl::GetFlag(FLAGS_run)};
  for (const std::string& text : absl::GetFlag(FLAGS_batches)) {
    if (!absl::SimpleAtoi(text, &options.batches.emplace_back()) || options.batches.back() < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--batches: expected numbers from 1 on, found ", text));
    }
  }
  for (const std::string& text : absl::GetFlag(FLAGS_precisions)) {
    ASSIGN_OR_RETURN(options.precisions.emplace_back(), ParsePrecision(text));
  }
  SessionOptions& session = options.request.session;
  ASSIGN_OR_RETURN(session.device, ParseDevice(absl::GetFlag(FLAGS_device)));
  ASSIGN_OR_RETURN(session.partitioner, ParsePartitioner(absl::GetFlag(FLAGS_partitioner)));
  const BenchRequest& request = options.request;
  if (request.runs < 1 || !(request.warm_up_ms >= 0) || !(request.seconds >= 0)) {
    return absl::InvalidArgumentError(
        "--runs: expected 1 or more; --warm-up, --seconds: 0 or more");
  }
  if (options.run.empty()) {
    absl::BitGen random;
    options.run = absl::StrFormat("%08x", absl::Uniform<uint32_t>(random));
  }
  return options;
}

absl::StatusOr<std::vector<BenchRecord>> MeasureAll(const Options& options) {
  const std::string date = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  std::vector<BenchRecord> records;
  for (const std::string& model : options.models) {
    for (const PrecisionChoice precision : options.precisions) {
      for (const int64_t batch : options.batches) {
        BenchRequest request = options.request;
        request.model = model;
        request.batch = batch;
        request.session.precision = precision;
        absl::StatusOr<BenchRecord> record = Measure(request);
        if (!record.ok()) return Annotate(record.status(), model);
        record->commit = options.commit;
        record->date = date;
        record->run = options.run;
        std::cerr << RecordText(*record) << std::flush;
        records.push_back(*std::move(record));
      }
    }
  }
  return records;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<std::vector<std::string>> arguments =
      ParseFlags({argv, argv + argc}, kUsage, "onnx_cudnn_bench.cc");
  if (!arguments.ok()) return Fail(kTool, arguments.status().message(), kExitUsage);
  const absl::StatusOr<Options> options = OptionsFromFlags(*arguments);
  if (!options.ok()) return Fail(kTool, options.status().message(), kExitUsage);
  const absl::StatusOr<std::vector<BenchRecord>> records = MeasureAll(*options);
  if (!records.ok()) return Fail(kTool, records.status());
  const std::string json = RecordsJson(*records);
  if (options->output.empty()) {
    std::cout << json << std::flush;
    return kExitDone;
  }
  const absl::Status written = WriteFile(options->output, json);
  return written.ok() ? kExitDone : Fail(kTool, written);
}

}  // namespace
}  // namespace onnx_cudnn

int main(int argc, char** argv) {
  return onnx_cudnn::RunTool(onnx_cudnn::kTool, onnx_cudnn::Main, argc, argv);
}
