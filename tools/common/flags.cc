#include "tools/common/flags.h"

#include <algorithm>
#include <utility>

#include "absl/flags/parse.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "tools/common/common_flags.h"
#include "tools/common/flag_aliases.h"
#include "tools/common/flag_values.h"
#include "tools/common/program_flags.h"

namespace onnx_cudnn {
namespace {

// The flags of this tool, sorted, with dashes.
std::vector<std::string> FlagNames(std::string_view source_file) {
  std::vector<std::string> names;
  for (const FlagFacts& flag : FlagsOf(source_file)) names.push_back(flag.name);
  return names;
}

// Abseil's flag names are identifiers: --warm-up becomes --warm_up.
void UnderscoresInName(std::string& argument) {
  if (!absl::StartsWith(argument, "--")) return;
  const auto end = std::find(argument.begin(), argument.end(), '=');
  std::replace(argument.begin() + 2, end, '-', '_');
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseFlags(std::vector<std::string> arguments,
                                                    std::string_view usage,
                                                    std::string_view source_file) {
  // Before Abseil, whose --help has no examples and exits with 1.
  ASSIGN_OR_RETURN(arguments, WithoutCommonFlags(std::move(arguments), usage, source_file));
  const std::vector<std::string> names = FlagNames(source_file);
  arguments = WithOurFlags(arguments, [&](std::string_view name) {
    return std::find(names.begin(), names.end(), WithDashes(name)) != names.end();
  });
  std::for_each(arguments.begin() + 1, arguments.end(), UnderscoresInName);
  RETURN_IF_ERROR(CheckFlagValues(arguments));
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  std::vector<char*> positional;
  std::vector<absl::UnrecognizedFlag> unknown;
  absl::ParseAbseilFlagsOnly(static_cast<int>(argv.size()), argv.data(), positional, unknown);
  if (!unknown.empty()) {
    const std::string name = WithDashes(unknown[0].flag_name);
    const std::string suggestion = SuggestionFor(name, names);
    return absl::InvalidArgumentError(absl::StrCat("unknown flag ", name.size() == 1 ? "-" : "--",
                                                   name, suggestion.empty() ? "" : ": ", suggestion,
                                                   ", see --help"));
  }
  return std::vector<std::string>(positional.begin() + 1, positional.end());
}

absl::StatusOr<std::string> OnlyModel(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1) return arguments[0];
  return absl::InvalidArgumentError(
      absl::StrCat("expected one model file, found ", arguments.size(), ", see --help"));
}

}  // namespace onnx_cudnn
