#include "tools/common/explain_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostReasons = 10;    // in the short form
constexpr size_t kMostExamples = 3;    // per reason
constexpr size_t kLongestPeriod = 24;  // rows of a repeating block
constexpr size_t kReasonIndent = 7;
constexpr int kBarColumns = 60;

// At most `columns` bytes of `text`, cut at a character.
std::string Fit(std::string text, size_t columns) {
  if (text.size() <= columns) return text;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  size_t end = columns - 2;
  while (end > 0 && continues(text[end])) --end;
  return text.replace(end, text.npos, "..");
}

void AppendLine(std::string& out, std::string line) {
  absl::StrAppend(&out, Fit(std::move(line), kExplainColumns), "\n");
}

// `text` wrapped to several lines, each indented by `indent` blanks.
void AppendWrapped(std::string& out, size_t indent, std::string_view text) {
  std::string line;
  for (std::string_view word : absl::StrSplit(text, ' ')) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > kExplainColumns) {
      AppendLine(out, std::string(indent, ' ') + line);
      line = "  ";
    } else if (!line.empty()) {
      line += ' ';
    }
    line += word;
  }
  AppendLine(out, std::string(indent, ' ') + line);
}

std::string Bytes(int64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000'000) return absl::StrFormat("%.2f TB", b / 1e12);
  if (bytes >= 1'000'000'000) return absl::StrFormat("%.2f GB", b / 1e9);
  if (bytes >= 1'000'000) return absl::StrFormat("%.2f MB", b / 1e6);
  if (bytes >= 1'000) return absl::StrFormat("%.2f kB", b / 1e3);
  return absl::StrCat(bytes, " B");
}

// ── Totals ──

void AppendTotals(const Explanation& e, std::string& out) {
  const Totals& t = e.totals;
  const MemoryReport& m = e.memory;
  AppendLine(out, absl::StrFormat("target   %s: %d partitions, %d launches, streams: %d", e.target,
                                  e.partitions.size(), t.launches, e.streams));
  if (!e.prices.empty()) AppendLine(out, absl::StrCat("prices   ", e.prices));
  AppendLine(out, absl::StrFormat("time     %.2f us predicted, %.2f us were each partition at its "
                                  "floor, %.2f us of it for formats",
                                  t.us, t.floor_us, t.format_us));
  AppendLine(out, absl::StrFormat("work     %.3f GFLOP, %s read and written",
                                  static_cast<double>(t.flops) / 1e9, Bytes(t.bytes)));
  if (e.copies.bytes > 0) {
    AppendLine(out, absl::StrFormat("callers  %s in and out: copies of %.2f us a run within the "
                                    "device, %.2f us from the host; a "
                                    "Binding: none",
                                    Bytes(e.copies.bytes), e.copies.device_us, e.copies.host_us));
  }
  std::string memory = absl::StrFormat(
      "memory   weights %s, arena %s (lower bound %s), largest workspace %s", Bytes(m.weight_bytes),
      Bytes(m.arena_bytes), Bytes(m.peak_bytes), Bytes(m.workspace_bytes));
  if (m.host_arena_bytes > 0) {
    absl::StrAppend(&memory, ", host arena ", Bytes(m.host_arena_bytes));
  }
  AppendLine(out, std::move(memory));
  if (m.fits()) return;
  AppendLine(out, absl::StrFormat("warning  weights, arena, inputs and outputs are %s, %s has %s: "
                                  "give smaller inputs (--shape)",
                                  Bytes(m.needed_bytes), e.target, Bytes(m.device_bytes)));
}

// ── Partitions ──

std::string FormatsOf(const PartitionReport& p) {
  const std::string out = p.outputs.empty() ? "" : p.outputs[0].format;
  if (p.inputs.empty() || p.inputs[0].format == out) return out;
  return absl::StrCat(p.inputs[0].format, ">", out);
}

std::string RowOf(const PartitionReport& p) {
  return absl::StrFormat("%-7s %8.2f %8.2f %8.1f %8.1f  %-14s %-18s %s", Fit(p.engine, 7),
                         p.cost.us, p.floor_us, static_cast<double>(p.cost.flops) / 1e6,
                         static_cast<double>(p.cost.bytes) / 1e3, Fit(FormatsOf(p), 14),
                         Fit(p.outputs.empty() ? "" : p.outputs[0].type, 18),
                         absl::StrJoin(p.ops, " "));
}

// "instead: kernel NHWC 9.10 us; host NCHW, host 80.00 us"
void AppendLost(const PartitionReport& p, std::string& out) {
  if (p.lost.empty()) return;
  const std::string list = absl::StrJoin(p.lost, "; ", [](std::string* text, const auto& lost) {
    absl::StrAppendFormat(text, "%s %s %.2f us", lost.engine, lost.formats, lost.us);
  });
  AppendWrapped(out, 12, absl::StrCat("instead: ", list));
}

// A block of `period` rows from `begin` that occurs `count` times in a row.
struct Repeat {
  size_t begin, period, count;
};

Repeat LongestRepeat(const std::vector<std::string>& rows, size_t begin) {
  Repeat best = {begin, 1, 1};
  for (size_t period = 1; period <= kLongestPeriod && begin + 2 * period <= rows.size(); ++period) {
    size_t end = begin + period;
    while (end < rows.size() && rows[end] == rows[end - period]) ++end;
    const size_t count = (end - begin) / period;
    if (count > 1 && period * count > best.period * best.count) best = {begin, period, count};
  }
  return best;
}

void AppendPartitions(const Explanation& e, bool verbose, std::string& out) {
  AppendLine(out,
             "\n   # times  engine        us    floor    MFLOP       kB  format         "
             "output             ops: first node");
  std::vector<std::string> rows;
  for (const PartitionReport& p : e.partitions) rows.push_back(RowOf(p));
  for (size_t i = 0; i < rows.size();) {
    const Repeat repeat = verbose ? Repeat{i, 1, 1} : LongestRepeat(rows, i);
    for (size_t k = i; k < i + repeat.period; ++k) {
      const PartitionReport& p = e.partitions[k];
      const std::string times = repeat.count > 1 ? absl::StrCat("x", repeat.count) : "";
      AppendLine(out, absl::StrFormat("%4d %5s  %s: %s", k, times, rows[k], p.nodes[0]));
      if (!verbose) continue;
      AppendLine(
          out, absl::StrFormat("            stream %d: %s", p.stream, absl::StrJoin(p.nodes, " ")));
      AppendLost(p, out);
    }
    i += repeat.period * repeat.count;
  }
}

// ── Edges ──

std::string ReasonOf(const Refusal& r) {
  return absl::StrCat(r.engine, r.engine.empty() ? "" : ": ", r.says,
                      r.remedy.empty() ? "" : absl::StrCat("; ", r.remedy));
}

// The reasons for an edge, one line each.
std::vector<std::string> ReasonsOf(const EdgeReport& edge) {
  std::vector<std::string> reasons;
  if (edge.offer.has_value()) {
    reasons.push_back(absl::StrCat(edge.offer->engine,
                                   " offered it and was not chosen; --partitioner cost weighs "
                                   "all offers, a pin file forces one"));
  }
  for (const Refusal& r : edge.refusals) reasons.push_back(ReasonOf(r));
  return reasons;
}

std::string ExampleOf(const EdgeReport& edge) {
  std::string example = absl::StrCat(edge.producer, " > ", edge.consumer);
  if (edge.offer.has_value()) {
    const Offer& offer = *edge.offer;
    absl::StrAppendFormat(&example, " (offered at %.2f us, chosen: %.2f us", offer.us,
                          offer.chosen_us);
    if (offer.other_ops > 0) absl::StrAppend(&example, " with ", offer.other_ops, " more ops");
    example += ")";
  }
  return example;
}

struct EdgeGroup {
  std::vector<std::string> reasons;
  std::vector<const EdgeReport*> edges;
};

// Edges grouped by equal reasons, the most frequent first.
std::vector<EdgeGroup> GroupEdges(const std::vector<EdgeReport>& edges) {
  std::map<std::vector<std::string>, size_t> index;
  std::vector<EdgeGroup> groups;
  for (const EdgeReport& edge : edges) {
    const std::vector<std::string> reasons = ReasonsOf(edge);
    const auto [it, added] = index.emplace(reasons, groups.size());
    if (added) groups.push_back({reasons, {}});
    groups[it->second].edges.push_back(&edge);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const EdgeGroup& a, const EdgeGroup& b) {
    return a.edges.size() > b.edges.size();
  });
  return groups;
}

// As many examples as fit one line, but at least one.
std::string ExamplesLine(const std::vector<std::string>& examples) {
  std::string line = absl::StrCat(std::string(kReasonIndent, ' '), "e.g. ", examples[0]);
  for (size_t i = 1; i < examples.size(); ++i) {
    if (line.size() + 2 + examples[i].size() > kExplainColumns) break;
    absl::StrAppend(&line, ", ", examples[i]);
  }
  return line;
}

void AppendGroup(const EdgeGroup& group, bool verbose, std::string& out) {
  const size_t shown = verbose ? group.edges.size() : std::min(kMostExamples, group.edges.size());
  std::set<std::string> pairs;
  std::vector<std::string> examples;
  for (const EdgeReport* edge : group.edges) {
    pairs.insert(absl::StrCat(edge->producer_op, " > ", edge->consumer_op));
    if (examples.size() < shown) examples.push_back(ExampleOf(*edge));
  }
  AppendLine(out, absl::StrFormat("%5d  %s", group.edges.size(), absl::StrJoin(pairs, ", ")));
  for (const std::string& reason : group.reasons) AppendWrapped(out, kReasonIndent, reason);
  if (!verbose) return AppendLine(out, ExamplesLine(examples));
  for (const std::string& example : examples) AppendLine(out, absl::StrCat("         ", example));
}

void AppendEdges(const Explanation& e, bool verbose, std::string& out) {
  AppendLine(out, absl::StrFormat("\nnot fused: %d edges between partitions", e.edges.size()));
  const std::vector<EdgeGroup> groups = GroupEdges(e.edges);
  const size_t shown = verbose ? groups.size() : std::min(kMostReasons, groups.size());
  for (size_t i = 0; i < shown; ++i) AppendGroup(groups[i], verbose, out);
  size_t edges = 0;
  for (size_t i = shown; i < groups.size(); ++i) edges += groups[i].edges.size();
  if (edges == 0) return;
  AppendLine(
      out, absl::StrFormat("%5d  for %d other reasons (--verbose)", edges, groups.size() - shown));
}

// ── Formats ──

void AppendFormat(std::string_view what, size_t count, const FormatCost& cost, std::string& out) {
  AppendLine(out, absl::StrFormat("%5d  %-9s %8.2f us  %10s  %s > %s: %s", count, what, cost.us,
                                  Bytes(cost.bytes), cost.from, cost.to, cost.value));
}

void AppendFormats(const Explanation& e, bool verbose, std::string& out) {
  const Totals& t = e.totals;
  AppendLine(out, absl::StrFormat("\nformats: %d cost something, %.2f us, %s", e.formats.size(),
                                  t.format_us, Bytes(t.format_bytes)));
  std::map<std::vector<std::string>, std::pair<size_t, FormatCost>> groups;
  for (const FormatCost& cost : e.formats) {
    if (verbose) {
      AppendFormat(cost.kind, 1, cost, out);
      continue;
    }
    // For padding, `from` is a type: one line each.
    auto [it, added] = groups.try_emplace({cost.kind, cost.from, cost.to}, 0, cost);
    auto& [count, sum] = it->second;
    ++count;
    if (added) continue;
    sum.bytes += cost.bytes;
    sum.us += cost.us;
  }
  for (const auto& [key, group] : groups) AppendFormat(key[0], group.first, group.second, out);
}

// ── Memory ──

void AppendMemory(const MemoryReport& m, std::string& out) {
  AppendLine(out, "\nbuffers\n       offset        bytes  launches      value");
  for (const BufferReport& b : m.buffers) {
    AppendLine(out, absl::StrFormat("%13d %12d  %-12s  %s%s", b.offset, b.bytes,
                                    absl::StrCat(b.first, " to ", b.last), b.name,
                                    b.space == Space::kHost ? ", host" : ""));
  }
  const int64_t largest =
      m.live_bytes.empty() ? 0 : *std::max_element(m.live_bytes.begin(), m.live_bytes.end());
  AppendLine(out, "\nlive bytes at each launch");
  for (size_t i = 0; i < m.live_bytes.size(); ++i) {
    const double share = largest == 0 ? 0 : static_cast<double>(m.live_bytes[i]) / largest;
    AppendLine(out, absl::StrFormat("%5d %13d  %s", i, m.live_bytes[i],
                                    std::string(static_cast<size_t>(share * kBarColumns), '#')));
  }
}

}  // namespace

std::string ExplainText(const Explanation& explanation, bool verbose) {
  std::string out;
  AppendTotals(explanation, out);
  AppendPartitions(explanation, verbose, out);
  AppendEdges(explanation, verbose, out);
  AppendFormats(explanation, verbose, out);
  if (verbose) AppendMemory(explanation.memory, out);
  return out;
}

}  // namespace onnx_cudnn
