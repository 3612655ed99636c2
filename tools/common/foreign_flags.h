// The flags of trtexec, onnxruntime_perf_test and Polygraphy, and what they are here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace onnx_cudnn {

// Our arguments for a foreign flag's value ("" of a switch); none: what it asks for is always so.
// nullopt: there are none for this value.
using OurArguments = std::optional<std::vector<std::string>> (*)(std::string_view value);

struct ForeignFlag {
  std::string_view name;  // without dashes
  bool takes_value;
  OurArguments ours;        // nullptr: there is nothing like it
  std::string_view answer;  // what to do instead where this program has no such flag
};

absl::Span<const ForeignFlag> ForeignFlags();

// Names of one letter are told apart by case; longer ones are equal whatever their dashes,
// underscores and case. nullptr: it is not known.
const ForeignFlag* FindForeignFlag(std::string_view name);

// `name` in lower case, without dashes and underscores.
std::string PlainName(std::string_view name);

}  // namespace onnx_cudnn
