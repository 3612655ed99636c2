// What a compiled model was made for, and the text that says so in it: a line "KEY VALUE" each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/options.h"
#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

struct CompiledFacts {
  std::string version;  // ThisVersion() of the library that made it
  std::string device;   // DeviceInfo::name
  int compute_capability = 0;
  int optimization_level = 2;
  PrecisionChoice precision = PrecisionChoice::kAuto;
  PartitionerChoice partitioner = PartitionerChoice::kGreedy;
  std::vector<std::string> disabled_passes, keep_f32;
  std::vector<std::string> engines;  // those with plans: "cudnn 9.19.0"
  std::string not_optimized;         // why there is no optimized graph; empty: there is one
  bool operator==(const CompiledFacts&) const = default;
};

std::string ThisVersion();  // "0.1.0 at b9f650a4c1d2"

// Whether a device of this DeviceInfo::name is one of the other name: a GPU that was not measured
// has its product's name ("nvidia h100 80gb hbm3"), of which a target's (h100) is a part.
bool AreOneDevice(std::string_view a, std::string_view b);

std::string ToText(const CompiledFacts& facts);
// InvalidArgument: not such a text.
absl::StatusOr<CompiledFacts> FactsFromText(std::string_view text);

// `asked` with what the facts decide where it leaves that open: the precision of kAuto, and kCost.
SessionOptions OptionsBy(const CompiledFacts& facts, SessionOptions asked);

// What differs, in one line, for a Session with `options` on the device of `info`; empty: nothing.
std::string WhatDiffers(const CompiledFacts& facts, const SessionOptions& options,
                        const DeviceInfo& info);

}  // namespace onnx_cudnn
