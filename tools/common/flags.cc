#include "tools/common/flags.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tools/common/exit_codes.h"
#include "tools/common/flag_aliases.h"

namespace onnx_cudnn {
namespace {

// `text` wrapped to 100 columns and indented.
std::string Wrapped(std::string_view text) {
  constexpr size_t kIndent = 6, kColumns = 100;
  std::string out;
  size_t column = kColumns;
  for (std::string_view word : absl::StrSplit(text, ' ')) {
    if (column + 1 + word.size() > kColumns) {
      absl::StrAppend(&out, out.empty() ? "" : "\n", std::string(kIndent, ' '), word);
      column = kIndent + word.size();
    } else {
      absl::StrAppend(&out, " ", word);
      column += 1 + word.size();
    }
  }
  return out;
}

std::string WithDashes(std::string_view name) { return absl::StrReplaceAll(name, {{"_", "-"}}); }

void PrintHelp(std::string_view usage, std::string_view source_file) {
  std::map<std::string_view, const absl::CommandLineFlag*> sorted;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (absl::EndsWith(flag->Filename(), source_file)) sorted[name] = flag;
  }
  std::cout << usage << "\n\nFlags:\n";
  for (const auto& [name, flag] : sorted) {
    const std::string standard = flag->DefaultValue();
    std::cout << "  --" << WithDashes(name)
              << (standard.empty() ? "" : absl::StrCat("  (", standard, ")")) << "\n"
              << Wrapped(flag->Help()) << "\n";
  }
}

// The flags of this tool, sorted, with dashes.
std::vector<std::string> FlagNames(std::string_view source_file) {
  std::vector<std::string> names;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (absl::EndsWith(flag->Filename(), source_file)) names.push_back(WithDashes(name));
  }
  std::sort(names.begin(), names.end());
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
  // Handled before Abseil, whose --help has no examples and exits with 1.
  const auto is_help = [](const std::string& a) {
    return a == "--help" || a == "-help" || a == "-h";
  };
  if (std::any_of(arguments.begin() + 1, arguments.end(), is_help)) {
    PrintHelp(usage, source_file);
    std::exit(kExitDone);
  }
  if (std::find(arguments.begin() + 1, arguments.end(), "--version") != arguments.end()) {
    std::cout << "onnx-cudnn " ONNX_CUDNN_VERSION "\n";
    std::exit(kExitDone);
  }
  const std::vector<std::string> names = FlagNames(source_file);
  arguments = WithOurFlags(arguments, [&](std::string_view name) {
    return std::find(names.begin(), names.end(), WithDashes(name)) != names.end();
  });
  std::for_each(arguments.begin() + 1, arguments.end(), UnderscoresInName);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  std::vector<char*> positional;
  std::vector<absl::UnrecognizedFlag> unknown;
  absl::ParseAbseilFlagsOnly(static_cast<int>(argv.size()), argv.data(), positional, unknown);
  if (!unknown.empty()) {
    const std::string name = WithDashes(unknown[0].flag_name);
    const std::string suggestion = SuggestionFor(name, names);
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown flag --", name, suggestion.empty() ? "" : ", here: ", suggestion, ", see --help"));
  }
  return std::vector<std::string>(positional.begin() + 1, positional.end());
}

absl::StatusOr<std::string> OnlyModel(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1) return arguments[0];
  return absl::InvalidArgumentError(
      absl::StrCat("expected one model file, found ", arguments.size(), ", see --help"));
}

}  // namespace onnx_cudnn
