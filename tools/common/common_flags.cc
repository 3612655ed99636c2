#include "tools/common/common_flags.h"

#include <cstdlib>
#include <iostream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "tools/common/color.h"
#include "tools/common/completion.h"
#include "tools/common/exit_codes.h"
#include "tools/common/man_page.h"
#include "tools/common/program_flags.h"
#include "tools/common/version_text.h"

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

std::string HelpText(std::string_view usage, const std::vector<FlagFacts>& flags) {
  std::string text = absl::StrCat(usage, "\n\nFlags:\n");
  for (const FlagFacts& flag : flags) {
    absl::StrAppend(&text, "  --", flag.name,
                    flag.standard.empty() ? "" : absl::StrCat("  (", flag.standard, ")"), "\n",
                    Wrapped(flag.help), "\n");
  }
  return text;
}

absl::StatusOr<std::string> CompletionFor(std::string_view shell, std::string_view program,
                                          const std::vector<FlagFacts>& flags) {
  if (shell == "bash") return BashCompletion(program, flags);
  if (shell == "zsh") return ZshCompletion(program, flags);
  return absl::InvalidArgumentError(
      absl::StrCat("--print-completion: expected bash or zsh, found ", shell));
}

[[noreturn]] void PrintAndExit(std::string_view program, std::string_view text) {
  std::cout << text << std::flush;
  const bool was_written = std::cout.good();
  std::exit(was_written ? kExitDone
                        : Fail(program, "cannot write to standard output", kExitInvalid));
}

bool IsHelp(std::string_view argument) {
  return argument == "--help" || argument == "-help" || argument == "-h";
}

// The value of the flag at `i`, --name=value or --name and the next argument, which is then passed
// over; nullopt: it is another flag.
std::optional<std::string> ValueOf(std::string_view name, const std::vector<std::string>& arguments,
                                   size_t& i) {
  std::string_view argument = arguments[i];
  if (!absl::ConsumePrefix(&argument, name)) return std::nullopt;
  if (argument.empty()) return i + 1 < arguments.size() ? arguments[++i] : "";
  if (!absl::ConsumePrefix(&argument, "=")) return std::nullopt;
  return std::string(argument);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> WithoutCommonFlags(std::vector<std::string> arguments,
                                                            std::string_view usage,
                                                            std::string_view source_file) {
  const std::string program = ProgramOf(source_file);
  std::vector<std::string> others;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (i > 0 && argument == "--") {  // everything after it is a model
      others.insert(others.end(), arguments.begin() + i, arguments.end());
      break;
    }
    if (IsHelp(argument)) PrintAndExit(program, HelpText(usage, FlagsOf(source_file)));
    if (argument == "--version") PrintAndExit(program, VersionText(Version()));
    if (argument == "--print-man") {
      PrintAndExit(program, ManPage(program, usage, FlagsOf(source_file), Version().version));
    }
    if (const auto shell = ValueOf("--print-completion", arguments, i)) {
      ASSIGN_OR_RETURN(const std::string script,
                       CompletionFor(*shell, program, FlagsOf(source_file)));
      PrintAndExit(program, script);
    }
    if (const auto color = ValueOf("--color", arguments, i)) {
      RETURN_IF_ERROR(ChooseColor(*color));
    } else {
      others.push_back(argument);
    }
  }
  return others;
}

}  // namespace onnx_cudnn
