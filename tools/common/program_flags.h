// The flags of a program as data, for its help, its completion and its man page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace onnx_cudnn {

enum class FlagKind { kSwitch, kChoice, kNumber, kText };

struct FlagFacts {
  std::string name;      // with dashes, without the two that lead: "warm-up"
  std::string standard;  // the default; empty for none
  std::string help;
  FlagKind kind = FlagKind::kText;
  std::vector<std::string> choices;  // of kChoice: the values that the program takes
};

// The flags that are defined in `source_file` and those that every program has, sorted by name.
std::vector<FlagFacts> FlagsOf(std::string_view source_file);

// "onnx-cudnn-run" for "onnx_cudnn_run.cc".
std::string ProgramOf(std::string_view source_file);

// `name` as it is typed: "warm-up" for "warm_up".
std::string WithDashes(std::string_view name);

}  // namespace onnx_cudnn
