#include "tools/common/profile_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/printable.h"
#include "tools/common/json_text.h"

namespace onnx_cudnn {

using Json = nlohmann::ordered_json;

static void AddTimes(Json& json, const ProfiledStep& step) {
  ADD_JSON_FIELDS(json, step, us, share, floor_us);
  json["of_floor"] = step.of_floor();
  ADD_JSON_FIELDS(json, step, flops, bytes);
  json["gb_per_s"] = step.gb_per_s();
  json["tflop_per_s"] = step.tflop_per_s();
}

static void to_json(Json& json, const ProfiledStep& step) {
  ADD_JSON_FIELDS(json, step, index, segment, stream, engine, variant, nodes, ops);
  AddTimes(json, step);
}

static void to_json(Json& json, const ProfileGroup& group) {
  ADD_JSON_FIELDS(json, group, name, steps);
  AddTimes(json, group.sum);
}

namespace {

size_t MeasuredRuns(const RunProfile& profile) { return profile.runs.size() - 2; }

std::string NameOfGroup(const ProfiledStep& step, ProfileBy by) {
  return by == ProfileBy::kOp ? absl::StrJoin(step.ops, " ") : LayerOf(step.nodes[0]);
}

// "   12.34   5.1 %     81 %   1234.5    12.34"
std::string Times(const ProfiledStep& step) {
  return absl::StrFormat("%9.2f %6.1f %% %6.0f %% %8.1f %8.2f", step.us, 100 * step.share,
                         100 * step.of_floor(), step.gb_per_s(), step.tflop_per_s());
}

constexpr std::string_view kTimes = "       us    share    floor     GB/s  TFLOP/s";

// "12", of several Programs "3.12", "-" between them.
std::string NumberOf(const ProfiledStep& step, const RunProfile& profile) {
  if (step.index < 0) return "-";
  if (profile.segments == 0) return absl::StrCat(step.index);
  return absl::StrCat(step.segment, ".", step.index);
}

void AppendSteps(const RunProfile& profile, std::string& text) {
  absl::StrAppend(&text, "    # ", kTimes, "  stream  engine   ops: nodes; variant\n");
  for (const ProfiledStep& step : profile.steps) {
    absl::StrAppendFormat(&text, "%5s %s %7d  %-7s  %s: %s%s%s\n", NumberOf(step, profile),
                          Times(step), step.stream, step.engine, absl::StrJoin(step.ops, " "),
                          Printable(absl::StrJoin(step.nodes, " ")),
                          step.variant.empty() ? "" : "; ", step.variant);
  }
}

void AppendGroups(const RunProfile& profile, ProfileBy by, std::string& text) {
  absl::StrAppend(&text, "steps ", kTimes, by == ProfileBy::kOp ? "  ops\n" : "  layer\n");
  for (const ProfileGroup& group : FoldProfile(profile, by)) {
    absl::StrAppendFormat(&text, "%5d %s  %s\n", group.steps, Times(group.sum),
                          Printable(group.name));
  }
}

}  // namespace

absl::StatusOr<ProfileBy> ParseProfileBy(std::string_view name) {
  if (name == "step") return ProfileBy::kStep;
  if (name == "op") return ProfileBy::kOp;
  if (name == "layer") return ProfileBy::kLayer;
  return absl::InvalidArgumentError(
      absl::StrCat("--profile-by: expected step, op or layer, found ", name));
}

std::string LayerOf(std::string_view node) {
  for (const char separator : {'/', '.'}) {
    const size_t last = node.rfind(separator);
    if (last != std::string_view::npos && last > 0) return std::string(node.substr(0, last));
  }
  return "(none)";
}

std::vector<ProfileGroup> FoldProfile(const RunProfile& profile, ProfileBy by) {
  if (by == ProfileBy::kStep) return {};
  std::map<std::string, ProfileGroup> by_name;
  for (const ProfiledStep& step : profile.steps) {
    ProfileGroup& group = by_name[NameOfGroup(step, by)];
    ++group.steps;
    group.sum.us += step.us;
    group.sum.share += step.share;
    group.sum.floor_us += step.floor_us;
    group.sum.flops += step.flops;
    group.sum.bytes += step.bytes;
  }
  std::vector<ProfileGroup> groups;
  for (auto& [name, group] : by_name) {
    group.name = name;
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const ProfileGroup& a, const ProfileGroup& b) {
    return a.sum.us > b.sum.us;
  });
  return groups;
}

std::string ProfileText(const RunProfile& profile, ProfileBy by) {
  std::string text = absl::StrFormat(
      "profile %d steps%s take %.2f us, a run without marks between them %.2f us; medians of %d "
      "%s\n",
      profile.steps.size(),
      profile.segments == 0 ? "" : absl::StrCat(" in ", profile.segments, " runs of programs"),
      profile.steps_us, profile.run_us, MeasuredRuns(profile),
      profile.is_captured ? "replays of a CUDA graph" : "runs without a CUDA graph");
  if (!profile.graph_note.empty()) {
    absl::StrAppendFormat(&text, "note    no CUDA graph: %s\n", profile.graph_note);
  }
  if (profile.bytes_in + profile.bytes_out > 0) {
    absl::StrAppendFormat(&text, "copies  %d bytes in %.2f us, %d bytes out %.2f us\n",
                          profile.bytes_in, profile.copy_in_us, profile.bytes_out,
                          profile.copy_out_us);
  }
  if (by == ProfileBy::kStep) {
    AppendSteps(profile, text);
  } else {
    AppendGroups(profile, by, text);
  }
  return text;
}

Json ProfileJson(const RunProfile& profile, ProfileBy by) {
  Json json = {{"captured", profile.is_captured},
               {"graph_note", profile.graph_note},
               {"runs", MeasuredRuns(profile)}};
  ADD_JSON_FIELDS(json, profile, streams, segments, run_us, steps_us, bytes_in, bytes_out,
                  copy_in_us, copy_out_us);
  json["steps"] = Json::array();
  for (const ProfiledStep& step : profile.steps) json["steps"].push_back(step);
  if (by != ProfileBy::kStep) json["groups"] = FoldProfile(profile, by);
  return json;
}

}  // namespace onnx_cudnn
