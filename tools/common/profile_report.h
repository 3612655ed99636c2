// A RunProfile as a table and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/profile.h"

namespace onnx_cudnn {

enum class ProfileBy : uint8_t { kStep, kOp, kLayer };
// "step", "op", "layer". InvalidArgument: another one.
absl::StatusOr<ProfileBy> ParseProfileBy(std::string_view name);

// The layer of a node, by its name: what stands before the last "/", without one before the last
// ".", else "(none)".
std::string LayerOf(std::string_view node);

// Steps with the same ops ("Conv Relu"), or whose first nodes are of the same layer.
struct ProfileGroup {
  std::string name;
  int steps = 0;
  ProfiledStep sum;  // of times, shares and work
};
// The one that takes most time first; none by kStep.
std::vector<ProfileGroup> FoldProfile(const RunProfile& profile, ProfileBy by);

std::string ProfileText(const RunProfile& profile, ProfileBy by);
// {"captured", "graph_note", "runs", "streams", "run_us", "steps_us", "bytes_in", "bytes_out",
// "copy_in_us", "copy_out_us", "steps": [{"index", "stream", "engine", "variant", "nodes", "ops",
// "us", "share", "floor_us", "of_floor", "flops", "bytes", "gb_per_s", "tflop_per_s"}], "groups":
// [{"name", "steps", "us", … as in steps}]}; "groups" stands only where steps were folded.
nlohmann::ordered_json ProfileJson(const RunProfile& profile, ProfileBy by);

}  // namespace onnx_cudnn
