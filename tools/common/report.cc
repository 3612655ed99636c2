#include "tools/common/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/printable.h"
#include "tools/common/json_text.h"

namespace onnx_cudnn {

using Json = nlohmann::ordered_json;

DEFINE_JSON_FIELDS(InputReport, name, type, source)
DEFINE_JSON_FIELDS(StartTime, name, begin_ms, end_ms, ms, stretches)
DEFINE_JSON_FIELDS(Summary, elements, not_finite, min, max, mean)
DEFINE_JSON_FIELDS(CheckedOutput, engine, variant, ops, output, ok, largest_difference,
                   largest_expected, share_of_tolerance, largest_relative, largest_ulps, cosine,
                   note)

static void to_json(Json& json, const CheckedPartition& p) {
  json["index"] = p.index;
  json.update(Json(static_cast<const CheckedOutput&>(p)));
  ADD_JSON_FIELDS(json, p, share_of_f32, overflowed);
  if (!p.op_by_op.empty()) json["op_by_op"] = p.op_by_op;
}

static void to_json(Json& json, const ProgramBuild& b) {
  json = {{"inputs", b.inputs}, {"quick", b.is_quick}};
  ADD_JSON_FIELDS(json, b, bind_ms, fold_ms, partition_ms, compile_ms, plan_ms, total_ms);
}

// A Run of `ms` by phase: "lock_ms", and the rest as "other_ms".
static Json PhasesJson(const RunTimes& times, double ms) {
  Json json;
  for (size_t i = 0; i < kRunPhases; ++i) {
    json[absl::StrCat(NameOf(static_cast<RunPhase>(i)), "_ms")] = times.ms[i];
  }
  json["other_ms"] = ms - times.sum();
  return json;
}

static void to_json(Json& json, const NewShapeTimes& t) {
  ADD_JSON_FIELDS(json, t, inputs, first_ms, steady_ms, longest_ms);
  json["beyond_ms"] = t.beyond_ms();
  json["longest_run"] = t.longest_run;
  json["first_parts"] = PhasesJson(t.first_times, t.first_ms[0]);
  json["longest_parts"] = PhasesJson(t.longest_times, t.longest_ms);
  json["swapped"] = t.swapped;
}

namespace {

constexpr size_t kMaxRowsShown = 4;

std::string LabelOf(const RunReport& report, int64_t index) {
  const auto i = static_cast<size_t>(index);
  return i < report.labels.size() ? report.labels[i] : "";
}

void AppendOutput(const RunReport& report, const OutputReport& output, std::string& text) {
  const Summary& s = output.summary;
  absl::StrAppendFormat(&text, "output  %s %s", output.name, output.type);
  if (output.is_numbers) {
    absl::StrAppendFormat(&text, "  min %.6g  max %.6g  mean %.6g", s.min, s.max, s.mean);
  }
  if (s.not_finite > 0) absl::StrAppendFormat(&text, "  NaN or infinite %d", s.not_finite);
  if (!output.file.empty()) absl::StrAppend(&text, "  in ", Printable(output.file));
  text += "\n";
  for (size_t row = 0; row < std::min(output.top.size(), kMaxRowsShown); ++row) {
    if (output.top.size() > 1) absl::StrAppendFormat(&text, "  row %d\n", row);
    for (const Score& score : output.top[row]) {
      absl::StrAppendFormat(&text, "  %12.6g  %5d  %s\n", score.value, score.index,
                            LabelOf(report, score.index));
    }
  }
  if (output.top.size() > kMaxRowsShown) {
    absl::StrAppendFormat(&text, "  and %d more rows\n", output.top.size() - kMaxRowsShown);
  }
}

void AppendVerified(const RunReport& report, std::string& text) {
  for (const VerifyReport& v : report.verified) {
    const Difference& d = v.difference;
    absl::StrAppendFormat(&text, "verify  %s  %s", v.output, d.ok() ? "agrees" : "DIFFERS");
    if (!d.type.empty()) {
      absl::StrAppendFormat(&text, ": %s\n", d.type);
      continue;
    }
    absl::StrAppendFormat(&text,
                          "  largest difference %.3g, largest expected %.3g, relative %.3g, "
                          "%.4g ulp, cosine %.9f, %d elements %s\n",
                          d.largest, d.largest_expected, v.figures.relative, v.figures.ulps,
                          v.figures.cosine, d.beyond, ToString(v.tolerance));
  }
  if (!report.divergence.empty()) {
    absl::StrAppend(&text, "first   ", Printable(report.divergence), "\n");
  }
}

Json OutputJson(const RunReport& report, const OutputReport& output) {
  Json json = {{"name", output.name}, {"type", output.type}};
  if (!output.file.empty()) json["file"] = output.file;
  if (output.is_numbers) json.update(Json(output.summary));
  for (const std::vector<Score>& row : output.top) {
    Json scores = Json::array();
    for (const Score& score : row) {
      Json entry = {{"index", score.index}};
      if (std::string label = LabelOf(report, score.index); !label.empty()) entry["label"] = label;
      entry["value"] = score.value;
      scores.push_back(std::move(entry));
    }
    json["top"].push_back(std::move(scores));
  }
  return json;
}

Json TimingJson(const RunReport& report) {
  const Timing t = SummarizeTimes(report.runs_ms);
  return {{"runs", report.runs_ms.size()},
          {"warm_up_ms", report.warm_up_ms},
          {"min_ms", t.min},
          {"median_ms", t.median},
          {"mean_ms", t.mean},
          {"p90_ms", t.p90},
          {"p99_ms", t.p99},
          {"ms", report.runs_ms}};
}

Json VerifyJson(const RunReport& report) {
  Json json = {{"ok", report.verify_ok()}};
  if (!report.divergence.empty()) json["divergence"] = report.divergence;
  for (const VerifyReport& v : report.verified) {
    const Difference& d = v.difference;
    json["outputs"].push_back({{"name", v.output},
                               {"ok", d.ok()},
                               {"rtol", v.tolerance.rtol},
                               {"atol", v.tolerance.atol},
                               {"tolerance", v.tolerance.of},
                               {"largest_difference", d.largest},
                               {"largest_expected", d.largest_expected},
                               {"largest_relative", v.figures.relative},
                               {"largest_ulps", v.figures.ulps},
                               {"cosine", v.figures.cosine},
                               {"beyond", d.beyond},
                               {"type", d.type}});
  }
  return json;
}

std::string CheckedText(const CheckedOutput& c) {
  return absl::StrFormat("%-7s %-6s %10.3g  %10.3g  %9.3f  %9.2g  %9.3g  %8.6f  %s > %s%s%s%s\n",
                         c.engine, c.ok ? "ok" : "WRONG", c.largest_difference, c.largest_expected,
                         c.share_of_tolerance, c.largest_relative, c.largest_ulps, c.cosine,
                         Printable(c.ops), Printable(c.output), c.variant.empty() ? "" : ", ",
                         c.variant, c.note.empty() ? "" : absl::StrCat("; ", c.note));
}

void AppendOpByOp(const CheckedPartition& partition, std::string& text) {
  for (const CheckedOutput& op : partition.op_by_op) {
    absl::StrAppend(&text, "alone  ", CheckedText(op));
  }
  const auto is_right = [](const CheckedOutput& op) {
    return op.ok && !op.engine.empty() && op.note.empty();
  };
  if (!partition.op_by_op.empty() && absl::c_all_of(partition.op_by_op, is_right)) {
    text += "       each op alone is right: the fusion is wrong\n";
  }
}

bool Overflows(const CheckedPartition& partition) { return partition.overflowed > 0; }

// "tolerance" is the largest difference as a share of the tolerance.
void AppendPartitions(const RunReport& report, std::string& text) {
  if (report.partitions.empty()) return;
  absl::StrAppendFormat(&text,
                        "partitions, the worst first\n%5s  %-7s %-6s %10s  %10s  %9s  %9s  %9s  "
                        "%8s  %s\n",
                        "#", "engine", "", "difference", "largest", "tolerance", "relative", "ulp",
                        "cosine", "ops: first node > output, variant");
  if (report.device == "cpu") {
    text += "  the CPU device runs the references themselves, so no difference is expected\n";
  }
  for (const CheckedPartition& p : report.partitions) {
    absl::StrAppendFormat(&text, "%5d  %s", p.index, CheckedText(p));
    AppendOpByOp(p, text);
  }
  if (const CheckedPartition* first = report.first_wrong(); first != nullptr) {
    absl::StrAppendFormat(&text, "first   partition %d is the first that is wrong: %s\n",
                          first->index, Printable(first->ops));
  }
  if (const CheckedPartition* first = FirstOf(report.partitions, Overflows); first != nullptr) {
    absl::StrAppendFormat(&text,
                          "first   partition %d is the first that overflows: %s, %d elements are "
                          "NaN or infinite, and finite in f32\n",
                          first->index, Printable(first->ops), first->overflowed);
  }
}

void AppendNewShapes(const RunReport& report, std::string& text) {
  for (const NewShapeTimes& t : report.new_shapes) {
    absl::StrAppendFormat(
        &text,
        "shape   %s  first runs %s ms; steady %.3f ms, the longest of all %.3f ms; "
        "programs replaced %d\n",
        Printable(t.inputs), absl::StrJoin(t.first_ms, ", ", absl::StreamFormatter()), t.steady_ms,
        t.longest_ms, t.swapped);
  }
}

Json SegmentsJson(const SessionStats& s) {
  return {{"programs", s.segments},           {"nodes_between", s.nodes_between},
          {"between_ms", s.between_ms},       {"size_reads", s.size_reads},
          {"size_reads_ms", s.size_reads_ms}, {"run_ms", s.segmented_ms}};
}

void AppendBuilds(const SessionStats& stats, std::string& text) {
  for (const ProgramBuild& b : stats.builds) {
    absl::StrAppendFormat(
        &text,
        "build   %s%s  bind %.1f ms, fold %.1f ms, partition %.1f ms, compile %.1f ms, plan "
        "%.1f ms; in all %.1f ms\n",
        Printable(b.inputs), b.is_quick ? " (quick)" : "", b.bind_ms, b.fold_ms, b.partition_ms,
        b.compile_ms, b.plan_ms, b.total_ms);
  }
}

void AppendStart(const RunReport& report, std::string& text) {
  for (const StartTime& t : report.start) {
    absl::StrAppendFormat(&text, "start   %s: from %.1f to %.1f ms, %.1f ms in %d\n", t.name,
                          t.begin_ms, t.end_ms, t.ms, t.stretches);
  }
}

}  // namespace

bool RunsInSegments(const SessionStats& stats) { return stats.segmented_ms > 0; }

std::string SegmentsText(const SessionStats& s) {
  const auto share = [&](double ms) { return 100 * ms / s.segmented_ms; };
  return absl::StrFormat(
      "%d runs of programs, %d nodes between them (%.3f ms, %.1f %% of the run), %d sizes read "
      "(%.3f ms, %.1f %%)",
      s.segments, s.nodes_between, s.between_ms, share(s.between_ms), s.size_reads, s.size_reads_ms,
      share(s.size_reads_ms));
}

bool RunReport::partitions_ok() const {
  return std::all_of(partitions.begin(), partitions.end(),
                     [](const CheckedPartition& p) { return p.ok; });
}

const CheckedPartition* FirstOf(const std::vector<CheckedPartition>& partitions,
                                absl::FunctionRef<bool(const CheckedPartition&)> is_meant) {
  const CheckedPartition* first = nullptr;
  for (const CheckedPartition& p : partitions) {
    if (is_meant(p) && (first == nullptr || p.index < first->index)) first = &p;
  }
  return first;
}

const CheckedPartition* RunReport::first_wrong() const {
  return FirstOf(partitions, [](const CheckedPartition& p) { return !p.ok; });
}

bool RunReport::verify_ok() const {
  return std::all_of(verified.begin(), verified.end(),
                     [](const VerifyReport& v) { return v.difference.ok(); });
}

OutputReport DescribeOutput(const std::string& name, const HostTensor& tensor, int top) {
  OutputReport report{.name = name,
                      .type = absl::StrCat(NameOf(tensor.dtype()), ToString(tensor.dims()))};
  const absl::StatusOr<std::vector<double>> values = ElementsAsDoubles(tensor);
  report.is_numbers = values.ok();
  if (!values.ok()) return report;
  report.summary = Summarize(*values);
  if (top > 0) report.top = TopScores(*values, tensor.dims(), top);
  return report;
}

std::string FormatText(const RunReport& report, bool verbose) {
  std::string text =
      absl::StrFormat("model   %s\ndevice  %s", Printable(report.model), report.device);
  absl::StrAppend(&text, report.note.empty() ? "" : absl::StrCat(" (", report.note, ")"), "\n");
  if (report.precision != "strict" || report.precision_was_asked) {
    absl::StrAppendFormat(&text, "runs as %s%s\n", report.precision,
                          report.precision_was_asked ? "" : " (a GPU's default for f32 models)");
  }
  for (const InputReport& input : report.inputs) {
    absl::StrAppendFormat(&text, "input   %s %s  %s\n", input.name, input.type,
                          Printable(input.source));
  }
  for (const OutputReport& output : report.outputs) AppendOutput(report, output, text);
  if (verbose) {
    const SessionStats& s = report.stats;
    absl::StrAppendFormat(
        &text,
        "set-up  device %.1f ms, load %.1f ms, optimize %.1f ms, plan %.1f ms, first run %.1f ms; "
        "weights %d bytes, arena %d bytes\n",
        s.device_ms, s.load_ms, s.optimize_ms, s.plan_ms, report.first_run_ms, s.weight_bytes,
        s.arena_bytes);
    absl::StrAppendFormat(&text, "tuning  %.1f ms, %d signatures measured, %d known\n", s.tune_ms,
                          s.tuned_signatures, s.cached_signatures);
    AppendBuilds(s, text);
    AppendStart(report, text);
    for (const std::string& note : s.tune_notes) absl::StrAppend(&text, "note    ", note, "\n");
  }
  if (RunsInSegments(report.stats)) {
    absl::StrAppend(&text, "parts   ", SegmentsText(report.stats), "\n");
  }
  if (!report.graph_note.empty()) {
    absl::StrAppendFormat(&text, "note    no CUDA graph: %s\n", report.graph_note);
  }
  if (const std::string& why = report.stats.bucket_note; !why.empty()) {
    absl::StrAppendFormat(&text, "note    not padded to buckets: %s\n", Printable(why));
  }
  if (!report.runs_ms.empty()) {
    const Timing t = SummarizeTimes(report.runs_ms);
    absl::StrAppendFormat(&text,
                          "latency min %.3f ms, median %.3f ms, mean %.3f ms, p90 %.3f ms, p99 "
                          "%.3f ms; %d %s after %.0f ms of warm-up\n",
                          t.min, t.median, t.mean, t.p90, t.p99, report.runs_ms.size(),
                          report.runs_ms.size() == 1 ? "run" : "runs", report.warm_up_ms);
  }
  if (!report.warning.empty()) {
    absl::StrAppend(&text, "warning ", Printable(report.warning), "\n");
  }
  AppendNewShapes(report, text);
  AppendVerified(report, text);
  AppendPartitions(report, text);
  if (report.profile.has_value()) text += ProfileText(*report.profile, report.profile_by);
  if (!report.trace.empty()) {
    absl::StrAppendFormat(&text, "trace   in %s\n", Printable(report.trace));
  }
  return text;
}

std::string FormatJson(const RunReport& report) {
  Json json;
  ADD_JSON_FIELDS(json, report, model, device, note, precision, graph_note);
  ADD_JSON_FIELDS(json, report.stats, device_ms, load_ms, optimize_ms, plan_ms, tune_ms,
                  tuned_signatures, cached_signatures, tune_notes, builds);
  json["first_run_ms"] = report.first_run_ms;
  json["first_run_parts"] = PhasesJson(report.first_times, report.first_ms);
  json["start"] = report.start;
  ADD_JSON_FIELDS(json, report.stats, weight_bytes, arena_bytes, programs_built, nodes, host_nodes,
                  padded_runs, bucket_note);
  json["inputs"] = report.inputs;
  json["outputs"] = Json::array();
  for (const OutputReport& output : report.outputs) {
    json["outputs"].push_back(OutputJson(report, output));
  }
  if (RunsInSegments(report.stats)) json["segments"] = SegmentsJson(report.stats);
  if (!report.new_shapes.empty()) json["new_shapes"] = report.new_shapes;
  if (!report.runs_ms.empty()) json["timing"] = TimingJson(report);
  if (!report.partitions.empty()) json["partitions"] = report.partitions;
  if (const CheckedPartition* first = report.first_wrong(); first != nullptr) {
    json["first_wrong"] = first->index;
  }
  if (const CheckedPartition* first = FirstOf(report.partitions, Overflows); first != nullptr) {
    json["first_overflow"] = first->index;
  }
  if (!report.warning.empty()) json["warning"] = report.warning;
  if (!report.verified.empty()) json["verify"] = VerifyJson(report);
  if (report.profile.has_value()) json["profile"] = ProfileJson(*report.profile, report.profile_by);
  if (!report.trace.empty()) json["trace"] = report.trace;
  return JsonText(json, /*indent=*/-1);
}

}  // namespace onnx_cudnn
