// onnx-cudnn-bench: measures models and writes records in the format of tools/bench/results.
#include <iostream>
#include <optional>

#include "absl/flags/flag.h"
#include "absl/random/random.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "onnx_cudnn/version.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "tools/common/bench.h"
#include "tools/common/bench_compare.h"
#include "tools/common/bench_report.h"
#include "tools/common/exit_codes.h"
#include "tools/common/flags.h"
#include "tools/common/offered_load.h"
#include "tools/common/plan_flags.h"

ABSL_FLAG(std::vector<std::string>, batches, {},
          "Batch sizes: extent 0 of every input where it is not a number. Default: 1, or that of a "
          "model of fixed shape.");
ABSL_FLAG(
    std::string, shape, "",
    "name=Nx3x640x640, once per input; the shape alone if the model has one input. N is the "
    "batch size. length=4 gives a symbolic dim a number. N,3,640,640 and name:Nx3 are taken too, "
    "and --shapes is the same. Default: of the dims that are not numbers, the first is the batch "
    "size, others are 1, height and width of images 224.")
    .OnUpdate([] {
      onnx_cudnn::AppendShape(absl::GetFlag(FLAGS_shape), onnx_cudnn::GivenInputs().shapes);
    });
ABSL_FLAG(std::vector<std::string>, precisions, {"auto"},
          "Precisions of f32 arithmetic: auto, strict, tf32, fp16, bf16.");
ABSL_FLAG(std::vector<std::string>, devices, {}, onnx_cudnn::kDevicesHelp);
ABSL_FLAG(std::string, device, "auto", "auto (a GPU if there is one), cpu, cuda or cuda:1.");
ABSL_FLAG(std::string, pin, "", onnx_cudnn::kPinHelp);
ABSL_FLAG(std::string, capability, "", onnx_cudnn::kCapabilityHelp);
ABSL_FLAG(std::string, partitioner, "greedy", onnx_cudnn::kPartitionerHelp);
ABSL_FLAG(double, tune_budget, 0, onnx_cudnn::kTuneBudgetHelp);
ABSL_FLAG(std::string, tune, "foreground", onnx_cudnn::kTuneHelp);
ABSL_FLAG(std::string, plan_cache, "", onnx_cudnn::kPlanCacheHelp);
ABSL_FLAG(int, host_threads, 0, onnx_cudnn::kHostThreadsHelp);
ABSL_FLAG(int, streams, 0, "Number of streams for independent steps. 0: two on a GPU, else one.");
ABSL_FLAG(int, threads, 1,
          "Threads of the back-to-back runs. They share the model; each has its own inputs, "
          "outputs and arena and waits for its own runs.");
ABSL_FLAG(bool, no_cuda_graph, false,
          "On a GPU: does not use CUDA graphs; launches every step in every run.");
ABSL_FLAG(int, runs, 200, "Number of runs timed one at a time.");
ABSL_FLAG(double, warm_up, 500, "Milliseconds of warm-up runs before the timed ones.");
ABSL_FLAG(double, seconds, 3,
          "Duration of the back-to-back runs, which measure images per second.");
ABSL_FLAG(std::string, output, "", "File for the JSON records; default: standard output.");
ABSL_FLAG(std::string, csv, "", "File for the same records as CSV with a header line.");
ABSL_FLAG(std::vector<std::string>, keep_f32, {}, onnx_cudnn::kKeepF32Help);
ABSL_FLAG(std::vector<std::string>, op_library, {}, onnx_cudnn::kOpLibraryHelp);
ABSL_FLAG(std::vector<std::string>, compare, {},
          "JSON files with earlier records or those of peers: prints the ratio theirs / ours "
          "of median_ms for equal model, precision and batch (above 1: ours is faster).");
ABSL_FLAG(std::string, against, "",
          "A second value of --partitioner, to compare with the first: both sessions are open "
          "and timed in alternation, five rounds each. Writes one record each, with the times "
          "of single runs only, and prints their ratio.");
ABSL_FLAG(double, fail_below, 0, "With --compare: exit code 4 if a ratio is below this. 0: never.");
ABSL_FLAG(std::vector<std::string>, qps, {},
          "Requests per second that arrive at random times (a Poisson process), whether or not "
          "earlier ones have ended: prints latencies from the arrival on instead of the other "
          "measurements. Each load lasts --seconds; a request has the rows of --batches.");
ABSL_FLAG(double, p99, 0,
          "Milliseconds: finds the largest load whose 99th percentile is within them, instead of "
          "--qps.");
ABSL_FLAG(
    int64_t, max_batch, 0,
    "With --qps or --p99: a Batcher joins requests into runs of up to so many rows; two at once "
    "for each GPU unless --threads says how many. 0: each request runs alone, by one of "
    "--threads.");
ABSL_FLAG(double, max_delay, 1, "With --max-batch: milliseconds that a request waits for others.");
ABSL_FLAG(std::string, commit, "",
          "Stored in the records: the commit that was built; default: the library's own.");
ABSL_FLAG(std::string, run, "",
          "Stored in the records: an id for this run and its peers'; default: random.");

namespace onnx_cudnn {
namespace {

constexpr std::string_view kTool = "onnx-cudnn-bench";
constexpr int kMostThreads = 256;
constexpr double kMostPerSecond = 1e6;
constexpr int kRounds = 5;  // per partitioner, with --against
constexpr std::string_view kUsage =
    R"(onnx-cudnn-bench MODEL... [flags]: measures models, with data on the device.

  onnx-cudnn-bench models/resnet50.onnx --precisions fp16 --batches 1,32,256 --output results.json
  onnx-cudnn-bench models/resnet18.onnx models/resnet50.onnx --precisions fp16,tf32 --batches 1,8 \
    --commit $(git rev-parse --short HEAD) --run 2026-11-22a
  onnx-cudnn-bench models/resnet50.onnx --precisions fp16 --compare results.json,peers.json --fail-below 0.95
  onnx-cudnn-bench models/resnet50.onnx --precisions fp16 --p99 20 --max-batch 32 --threads 2

Writes one JSON list of records {who, model, precision, partitioner, batch, threads, cuda_graph, median_ms, mean_ms, p90_ms, p95_ms,
  p99_ms, noise, images_per_s, h2d_ms, d2h_ms, enqueue_ms, clock_mhz, power_w, joules, setup_s, context_s, tune_s,
  tuned_signatures, cached_signatures, peak_bytes, segments, nodes_between, between_ms, size_reads, size_reads_ms, segmented_ms, device, driver, cuda, cudnn, commit, date, run}; a table of them and
  advice on standard error.
  median_ms ... p99_ms  of --runs runs, one at a time, data on the device, by the GPU's clock around a replay of the CUDA
                        graph (without a graph: by the host's clock around a run); percentiles by nearest rank
  noise                 (p90_ms - median_ms) / median_ms
  images_per_s          of back-to-back runs, over all --threads
  h2d_ms, d2h_ms        on a GPU: copying the inputs of one run from pinned memory, and its outputs to it, by the GPU's clock
  enqueue_ms            on a GPU: host time of enqueueing a run on a caller's stream, without waiting for its end
  clock_mhz, power_w    during the back-to-back runs, if nvidia-smi exists and --seconds is at least 1
  joules                of a back-to-back run, by the GPU's own counter, if --seconds is at least 1
  setup_s               from opening the file to the first result; includes context_s (creating the CUDA context) and tune_s
                        (measuring tuned_signatures; cached_signatures were in the plan cache)
  segments ... segmented_ms  only of a model that runs as several Programs, of its last run: runs of Programs, nodes between them and their
                        time, sizes read and their time, the whole run
  peak_bytes            weights, and arena, inputs and outputs of each thread
  Unknown values are left out, and empty in --csv.

With --qps or --p99, records of loads instead: {who, model, precision, batch, threads, max_batch, max_delay_ms, offered_qps, arrived_qps,
  achieved_qps, keeps_up, requests, refused, failed, mean_batch, mean_ms, p50_ms, p90_ms, p95_ms, p99_ms, max_ms, device, driver, cuda, cudnn, commit, date, run}
  ..._ms    from the arrival of a request to its outputs in host memory: waiting, copies and the run
  keeps_up  none was refused (4,096 requests may wait) or failed, and the last one ended within 105 % of the load's time
  A 99th percentile needs some hundred requests: --seconds times --qps. The last record of --p99 is the load that it finds, measured anew.

From trtexec: --warmUp is --warm-up, --duration --seconds, --iterations --runs, --infStreams --threads (--streams spreads
  the steps of one run), --useCudaGraph the default, --timingCacheFile --plan-cache; its latency is h2d_ms + median_ms +
  d2h_ms.

Exit codes: 0 done, 1 usage, 2 model or input invalid, nothing to compare, 3 valid but not supported, 4 a ratio below
  --fail-below, 5 device or library missing, 6 out of memory, no load within --p99,
  7 internal.)";

struct Options {
  std::vector<std::string> models;
  std::vector<std::optional<int64_t>> batches;  // nullopt: the model's
  std::vector<PrecisionChoice> precisions;
  BenchRequest request;  // less the model, batch and precision
  std::string output, csv, commit, run;
  std::optional<PartitionerChoice> against;
  std::vector<BenchRecord> compare;
  double fail_below = 0;
};

absl::Status CheckCounts(const BenchRequest& request) {
  if (request.runs < 1 || !(request.warm_up_ms >= 0) || !(request.seconds >= 0)) {
    return absl::InvalidArgumentError(
        "--runs: expected 1 or more; --warm-up, --seconds: 0 or more");
  }
  if (request.threads >= 1 && request.threads <= kMostThreads) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("--threads: expected 1 to %d, found %d", kMostThreads, request.threads));
}

absl::StatusOr<Options> OptionsFromFlags(const std::vector<std::string>& models) {
  if (models.empty()) return absl::InvalidArgumentError("expected a model file, see --help");
  Options options{.models = models,
                  .request = {.session = {.tune_budget_s = absl::GetFlag(FLAGS_tune_budget),
                                          .plan_cache = absl::GetFlag(FLAGS_plan_cache),
                                          .streams = absl::GetFlag(FLAGS_streams),
                                          .cuda_graph = !absl::GetFlag(FLAGS_no_cuda_graph)},
                              .runs = absl::GetFlag(FLAGS_runs),
                              .warm_up_ms = absl::GetFlag(FLAGS_warm_up),
                              .seconds = absl::GetFlag(FLAGS_seconds),
                              .threads = absl::GetFlag(FLAGS_threads)},
                  .output = absl::GetFlag(FLAGS_output),
                  .csv = absl::GetFlag(FLAGS_csv),
                  .commit = absl::GetFlag(FLAGS_commit),
                  .run = absl::GetFlag(FLAGS_run),
                  .fail_below = absl::GetFlag(FLAGS_fail_below)};
  for (const std::string& text : absl::GetFlag(FLAGS_batches)) {
    int64_t batch = 0;
    if (!absl::SimpleAtoi(text, &batch) || batch < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--batches: expected numbers from 1 on, found ", text));
    }
    options.batches.emplace_back(batch);
  }
  if (options.batches.empty()) options.batches.emplace_back();
  for (const std::string& text : absl::GetFlag(FLAGS_precisions)) {
    ASSIGN_OR_RETURN(options.precisions.emplace_back(), ParsePrecision(text));
  }
  SessionOptions& session = options.request.session;
  session.op_libraries = absl::GetFlag(FLAGS_op_library);
  session.keep_f32 = absl::GetFlag(FLAGS_keep_f32);
  session.threads = absl::GetFlag(FLAGS_host_threads);
  ASSIGN_OR_RETURN(session.devices, ParseDevices(absl::GetFlag(FLAGS_devices)));
  ASSIGN_OR_RETURN(session.device, ParseDevice(absl::GetFlag(FLAGS_device), session.devices));
  ASSIGN_OR_RETURN(session.compute_capability, ParseCapability(absl::GetFlag(FLAGS_capability)));
  ASSIGN_OR_RETURN(session.pins, ReadPinFile(absl::GetFlag(FLAGS_pin)));
  ASSIGN_OR_RETURN(session.partitioner, ParsePartitioner(absl::GetFlag(FLAGS_partitioner)));
  ASSIGN_OR_RETURN(session.tune, ParseTuneMode(absl::GetFlag(FLAGS_tune)));
  if (const std::string against = absl::GetFlag(FLAGS_against); !against.empty()) {
    ASSIGN_OR_RETURN(options.against, ParsePartitioner(against));
  }
  RETURN_IF_ERROR(CheckCounts(options.request));
  if (!(options.fail_below >= 0)) {
    return absl::InvalidArgumentError("--fail-below: expected a ratio of 0 or more");
  }
  if (options.fail_below > 0 && absl::GetFlag(FLAGS_compare).empty()) {
    return absl::InvalidArgumentError("--fail-below: needs --compare");
  }
  if (options.commit.empty()) options.commit = Version().commit;
  if (options.commit.empty()) options.commit = "unknown";
  if (options.run.empty()) {
    absl::BitGen random;
    options.run = absl::StrFormat("%08x", absl::Uniform<uint32_t>(random));
  }
  return options;
}

std::string Now() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
}

void Stamp(const Options& options, const std::string& date, BenchRecord& record) {
  record.commit = options.commit;
  record.date = date;
  record.run = options.run;
}

// The request of one model, precision and batch.
BenchRequest RequestOf(const Options& options, const std::string& model, PrecisionChoice precision,
                       std::optional<int64_t> batch) {
  BenchRequest request = options.request;
  request.model = model;
  request.batch = batch;
  for (NamedText named : GivenInputs().shapes) {
    named.text = absl::StrReplaceAll(named.text, {{"N", absl::StrCat(batch.value_or(1))}});
    request.shapes.push_back(std::move(named));
  }
  request.session.precision = precision;
  return request;
}

absl::StatusOr<double> ParseRate(std::string_view text) {
  double rate = 0;
  if (absl::SimpleAtod(text, &rate) && rate > 0 && rate <= kMostPerSecond) return rate;
  return absl::InvalidArgumentError(
      absl::StrCat("--qps: expected numbers above 0, up to ", kMostPerSecond, ", found ", text));
}

// What --qps or --p99 asks for; nullopt: neither is given.
absl::StatusOr<std::optional<LoadRequest>> LoadFromFlags(const Options& options) {
  LoadRequest load{.bench = options.request,
                   .p99_ms = absl::GetFlag(FLAGS_p99),
                   .max_batch = absl::GetFlag(FLAGS_max_batch),
                   .max_delay_ms = absl::GetFlag(FLAGS_max_delay)};
  for (const std::string& text : absl::GetFlag(FLAGS_qps)) {
    ASSIGN_OR_RETURN(load.offered.emplace_back(), ParseRate(text));
  }
  if (!(load.p99_ms >= 0) || load.max_batch < 0 || !(load.max_delay_ms >= 0)) {
    return absl::InvalidArgumentError("--p99, --max-batch, --max-delay: expected 0 or more");
  }
  const bool is_asked = load.p99_ms > 0 || !load.offered.empty();
  if (!is_asked && load.max_batch > 0) {
    return absl::InvalidArgumentError("--max-batch: needs --qps or --p99");
  }
  if (load.p99_ms > 0 && !load.offered.empty()) {
    return absl::InvalidArgumentError(
        "--p99 finds the load that --qps gives: expected one of them");
  }
  const std::vector<int>& devices = options.request.session.devices;
  if (!is_asked && (devices.size() > 1 || devices == std::vector<int>{kAllDevices})) {
    return absl::InvalidArgumentError(
        "--devices: only the loads of --qps and --p99 use several GPUs, expected one");
  }
  const bool is_alone = options.models.size() == 1 && options.precisions.size() == 1 &&
                        options.batches.size() == 1 && options.csv.empty() &&
                        absl::GetFlag(FLAGS_compare).empty() && !options.against.has_value();
  if (is_asked && !is_alone) {
    return absl::InvalidArgumentError(
        "--qps, --p99: expected one model, precision and batch, without --csv, --compare and "
        "--against");
  }
  return is_asked ? std::optional(load) : std::nullopt;
}

// Prints a table of the loads and writes their records.
absl::Status MeasureAndWriteLoads(const Options& options, LoadRequest load) {
  load.bench = RequestOf(options, options.models[0], options.precisions[0], options.batches[0]);
  absl::StatusOr<std::vector<LoadRecord>> records = MeasureLoads(load);
  if (!records.ok()) return Annotate(records.status(), load.bench.model);
  std::cerr << LoadTableHeader(records->front());
  const std::string date = Now();
  for (LoadRecord& record : *records) {
    Stamp(options, date, record.bench);
    std::cerr << LoadTableRow(record);
  }
  if (load.p99_ms > 0) {
    std::cerr << absl::StreamFormat("largest load within %g ms: %.1f requests per second\n",
                                    load.p99_ms, records->back().offered_qps);
  }
  if (!options.output.empty()) return WriteFile(options.output, LoadsJson(*records));
  std::cout << LoadsJson(*records) << std::flush;
  return absl::OkStatus();
}

// One record; with --against one per partitioner, and their ratio is printed.
absl::StatusOr<std::vector<BenchRecord>> MeasureOne(const Options& options,
                                                    const BenchRequest& request) {
  std::vector<BenchRecord> records;
  if (!options.against) {
    ASSIGN_OR_RETURN(records.emplace_back(), Measure(request));
    return records;
  }
  ASSIGN_OR_RETURN(records, MeasureAlternating(request, *options.against, kRounds));
  std::cerr << absl::StreamFormat(
      "%s %s, batch %d: %s / %s %.3f\n", records[0].model, records[0].precision, records[0].batch,
      records[1].partitioner, records[0].partitioner, records[1].median_ms / records[0].median_ms);
  return records;
}

// Prints a table row after each measurement, and advice at the end.
absl::StatusOr<std::vector<BenchRecord>> MeasureAll(const Options& options) {
  const std::string date = Now();
  std::vector<BenchRecord> records;
  for (const std::string& model : options.models) {
    for (const PrecisionChoice precision : options.precisions) {
      for (const std::optional<int64_t> batch : options.batches) {
        const BenchRequest request = RequestOf(options, model, precision, batch);
        absl::StatusOr<std::vector<BenchRecord>> measured = MeasureOne(options, request);
        if (!measured.ok()) {
          return Annotate(WithPinFile(measured.status(), absl::GetFlag(FLAGS_pin)), model);
        }
        for (BenchRecord& record : *measured) {
          Stamp(options, date, record);
          if (records.empty()) std::cerr << TableHeader(record);
          std::cerr << TableRow(record) << std::flush;
          records.push_back(std::move(record));
        }
      }
    }
  }
  for (const std::string& advice : AdviceFor(records)) std::cerr << advice << "\n";
  return records;
}

absl::Status WriteRecords(const Options& options, const std::vector<BenchRecord>& records) {
  if (options.output.empty()) {
    std::cout << RecordsJson(records) << std::flush;
  } else {
    RETURN_IF_ERROR(WriteFile(options.output, RecordsJson(records)));
  }
  return options.csv.empty() ? absl::OkStatus() : WriteFile(options.csv, RecordsCsv(records));
}

// Prints every comparison; returns how many ratios are below --fail-below.
absl::StatusOr<int> CountSlower(const Options& options, const std::vector<BenchRecord>& records) {
  ASSIGN_OR_RETURN(const std::vector<Comparison> comparisons,
                   CompareRecords(records, options.compare));
  int slower = 0;
  for (const Comparison& comparison : comparisons) {
    std::cerr << ComparisonText(comparison);
    if (comparison.ratio() < options.fail_below) ++slower;
  }
  return slower;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<std::vector<std::string>> arguments =
      ParseFlags({argv, argv + argc}, kUsage, "onnx_cudnn_bench.cc");
  if (!arguments.ok()) return Fail(kTool, arguments.status().message(), kExitUsage);
  absl::StatusOr<Options> options = OptionsFromFlags(*arguments);
  if (!options.ok()) return Fail(kTool, options.status().message(), kExitUsage);
  const absl::StatusOr<std::optional<LoadRequest>> load = LoadFromFlags(*options);
  if (!load.ok()) return Fail(kTool, load.status().message(), kExitUsage);
  if (load->has_value()) {
    const absl::Status measured = MeasureAndWriteLoads(*options, **load);
    return measured.ok() ? kExitDone : Fail(kTool, measured);
  }
  const std::vector<std::string> compare = absl::GetFlag(FLAGS_compare);
  absl::StatusOr<std::vector<BenchRecord>> others = ReadRecords(compare);
  if (!others.ok()) return Fail(kTool, others.status());
  options->compare = *std::move(others);
  const absl::StatusOr<std::vector<BenchRecord>> records = MeasureAll(*options);
  if (!records.ok()) return Fail(kTool, records.status());
  const absl::Status written = WriteRecords(*options, *records);
  if (!written.ok()) return Fail(kTool, written);
  if (compare.empty()) return kExitDone;
  const absl::StatusOr<int> slower = CountSlower(*options, *records);
  if (!slower.ok()) return Fail(kTool, slower.status());
  if (*slower == 0) return kExitDone;
  return Fail(kTool,
              absl::StrFormat("ratios below --fail-below %g: %d", options->fail_below, *slower),
              kExitDifference);
}

}  // namespace
}  // namespace onnx_cudnn

int main(int argc, char** argv) {
  return onnx_cudnn::RunTool(onnx_cudnn::kTool, onnx_cudnn::Main, argc, argv);
}
