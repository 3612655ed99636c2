#include "tools/common/bench_report.h"

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/common/json_text.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kCopyShare = 0.5;  // share of the median
constexpr double kLaunchShare = 0.8;
constexpr double kMostNoise = 0.05;
constexpr double kGrowth = 1.1;

// Every field in the order of the files; null: unknown.
Json Fields(const BenchRecord& r) {
  Json json;
  ADD_JSON_FIELDS(json, r, who, model, precision, partitioner, batch, threads, cuda_graph,
                  median_ms, mean_ms, p90_ms, p95_ms, p99_ms);
  json["noise"] = r.noise();
  ADD_JSON_FIELDS(json, r, images_per_s, h2d_ms, d2h_ms, enqueue_ms, clock_mhz, power_w, joules,
                  setup_s, context_s, tune_s, tuned_signatures, cached_signatures, peak_bytes,
                  segments, nodes_between, between_ms, size_reads, size_reads_ms, segmented_ms,
                  device, driver, cuda, cudnn, commit, date, run);
  return json;
}

std::string CsvCell(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string Cell(const std::optional<double>& value, int decimals) {
  return value.has_value() ? absl::StrFormat("%.*f", decimals, *value) : "-";
}

// The advice on one record; empty: none.
std::string CopyAdvice(std::string_view what, const std::optional<double>& ms, double median_ms,
                       std::string_view remedy) {
  if (ms.value_or(0) <= kCopyShare * median_ms) return "";
  return absl::StrFormat("bound by %s copies: %.3f ms beside %.3f ms of compute; %s", what, *ms,
                         median_ms, remedy);
}

std::string LaunchAdvice(const BenchRecord& r) {
  const double limit_ms = r.cuda_graph ? r.median_ms : kLaunchShare * r.median_ms;
  if (r.enqueue_ms.value_or(0) <= limit_ms) return "";
  std::string_view remedy = "a larger batch gives a launch more work";
  if (!r.cuda_graph) remedy = "use CUDA graphs: leave out --no-cuda-graph";
  const std::string refused = absl::StrCat("no CUDA graph: ", r.graph_note);
  if (!r.graph_note.empty()) remedy = refused;
  return absl::StrFormat("bound by launches: %.3f ms to launch a run of %.3f ms; %s", *r.enqueue_ms,
                         r.median_ms, remedy);
}

// What a Run in segments spends beside its Programs; empty: the model is one Program.
std::string SegmentsNote(const BenchRecord& r) {
  if (!r.segmented_ms.has_value()) return "";
  return absl::StrFormat(
      "in segments: %d runs of programs, %d nodes between them (%.1f %% of a run), %d sizes read "
      "(%.1f %%)",
      *r.segments, *r.nodes_between, 100 * *r.between_ms / *r.segmented_ms, *r.size_reads,
      100 * *r.size_reads_ms / *r.segmented_ms);
}

std::string NoiseAdvice(const BenchRecord& r) {
  if (r.noise() <= kMostNoise) return "";
  return absl::StrFormat(
      "noisy: p90 is %.0f %% above the median; stop other programs, lock the clocks (nvidia-smi "
      "-lgc) or raise --warm-up and --runs",
      100 * r.noise());
}

}  // namespace

std::string RecordsJson(const std::vector<BenchRecord>& records) {
  Json list = Json::array();
  for (const BenchRecord& record : records) {
    Json known = Json::object();
    const Json fields = Fields(record);
    for (const auto& [name, value] : fields.items()) {
      if (!value.is_null()) known[name] = value;
    }
    list.push_back(std::move(known));
  }
  return JsonText(list, /*indent=*/1);
}

std::string RecordsCsv(const std::vector<BenchRecord>& records) {
  std::vector<std::string> cells;
  const Json names = Fields({});
  for (const auto& [name, value] : names.items()) cells.push_back(name);
  std::string csv = absl::StrCat(absl::StrJoin(cells, ","), "\n");
  for (const BenchRecord& record : records) {
    cells.clear();
    for (const Json& value : Fields(record)) cells.push_back(CsvCell(value));
    absl::StrAppend(&csv, absl::StrJoin(cells, ","), "\n");
  }
  return csv;
}

std::string TableHeader(const BenchRecord& r) {
  std::string text = absl::StrCat("device ", r.device);
  if (!r.driver.empty()) absl::StrAppend(&text, ", driver ", r.driver);
  if (!r.cuda.empty()) absl::StrAppend(&text, ", CUDA ", r.cuda);
  if (!r.cudnn.empty()) absl::StrAppend(&text, ", cuDNN ", r.cudnn);
  absl::StrAppendFormat(
      &text, "\n%-20s %-9s %6s %7s %9s %9s %9s %9s %9s %10s %8s %8s %10s %7s %5s %5s %8s\n",
      "model", "precision", "batch", "threads", "median ms", "mean ms", "p90 ms", "p95 ms",
      "p99 ms", "images/s", "H2D ms", "D2H ms", "enqueue ms", "noise %", "MHz", "W", "set-up s");
  return text;
}

std::string TableRow(const BenchRecord& r) {
  return absl::StrFormat(
      "%-20s %-9s %6d %7d %9.4f %9.4f %9.4f %9.4f %9.4f %10s %8s %8s %10s %7.1f %5s %5s %8.2f\n",
      r.model, r.precision, r.batch, r.threads, r.median_ms, r.mean_ms, r.p90_ms, r.p95_ms,
      r.p99_ms, r.images_per_s > 0 ? Cell(r.images_per_s, 0) : "-", Cell(r.h2d_ms, 4),
      Cell(r.d2h_ms, 4), Cell(r.enqueue_ms, 4), 100 * r.noise(), Cell(r.clock_mhz, 0),
      Cell(r.power_w, 0), r.setup_s);
}

std::vector<std::string> AdviceFor(const std::vector<BenchRecord>& records) {
  std::vector<std::string> lines;
  std::map<std::pair<std::string, std::string>, std::map<int64_t, double>> rates;  // by batch
  for (const BenchRecord& r : records) {
    for (const std::string& advice :
         {CopyAdvice("H2D", r.h2d_ms, r.median_ms, "keep inputs on the device or send f16 or u8"),
          CopyAdvice("D2H", r.d2h_ms, r.median_ms, "keep outputs on the device or return less"),
          LaunchAdvice(r), SegmentsNote(r), NoiseAdvice(r)}) {
      if (advice.empty()) continue;
      lines.push_back(absl::StrFormat("%s %s batch %d: %s", r.model, r.precision, r.batch, advice));
    }
    if (r.images_per_s > 0) rates[{r.model, r.precision}][r.batch] = r.images_per_s;
  }
  for (const auto& [name, by_batch] : rates) {
    if (by_batch.size() < 2) continue;
    const auto& [batch, rate] = *by_batch.rbegin();
    const auto& [smaller, less] = *std::next(by_batch.rbegin());
    if (rate < kGrowth * less) continue;
    lines.push_back(absl::StrFormat(
        "%s %s: images/s still grows, %.0f at batch %d and %.0f at %d: try a larger batch",
        name.first, name.second, less, smaller, rate, batch));
  }
  return lines;
}

}  // namespace onnx_cudnn
