#include "tools/common/completion.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace onnx_cudnn {
namespace {

// What precedes the cases of flags. Bash splits --flag=value into three words.
constexpr std::string_view kBashHead = R"(
  local current="${COMP_WORDS[COMP_CWORD]}" flag="${COMP_WORDS[COMP_CWORD-1]}"
  if [[ $current == "=" ]]; then
    current=""
  elif [[ $flag == "=" ]]; then
    flag="${COMP_WORDS[COMP_CWORD-2]}"
  fi
  COMPREPLY=()
  case "$flag" in
)";

constexpr std::string_view kBashTail = R"(
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
)";

std::string Dashed(const FlagFacts& flag) { return absl::StrCat("--", flag.name); }

std::string NamesOf(const std::vector<FlagFacts>& flags, FlagKind kind, std::string_view between) {
  std::vector<std::string> names;
  for (const FlagFacts& flag : flags) {
    if (flag.kind == kind) names.push_back(Dashed(flag));
  }
  return absl::StrJoin(names, between);
}

// The first sentence, for a list of flags; the shell's marks are escaped.
std::string ShortHelp(const FlagFacts& flag) {
  const std::string& help = flag.help;
  size_t end = help.find(". ");
  const auto is_end = [&](size_t i) {
    return i + 2 < help.size() && absl::ascii_isalnum(static_cast<unsigned char>(help[i + 2]));
  };
  while (end != std::string::npos && !is_end(end)) end = help.find(". ", end + 1);
  if (end == std::string::npos) end = help.size() - (help.ends_with('.') ? 1 : 0);
  return absl::StrReplaceAll(
      help.substr(0, end),
      {{"\\", "\\\\"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}, {"'", "'\\''"}});
}

std::string ZshArgument(const FlagFacts& flag) {
  std::string argument = absl::StrCat("  '", flag.kind == FlagKind::kText ? "*" : "", Dashed(flag));
  if (flag.kind != FlagKind::kSwitch) argument += '=';
  absl::StrAppend(&argument, "[", ShortHelp(flag), "]");
  if (flag.kind == FlagKind::kChoice) {
    absl::StrAppend(&argument, ":value:(", absl::StrJoin(flag.choices, " "), ")");
  } else if (flag.kind == FlagKind::kNumber) {
    absl::StrAppend(&argument, ":number: ");
  } else if (flag.kind == FlagKind::kText) {
    absl::StrAppend(&argument, ":value:_files");
  }
  return argument + "' \\\n";
}

}  // namespace

std::string BashCompletion(std::string_view program, const std::vector<FlagFacts>& flags) {
  const std::string function = absl::StrCat("_", absl::StrReplaceAll(program, {{"-", "_"}}));
  std::string script = absl::StrCat("# bash completion of ", program, ", printed by ", program,
                                    " --print-completion=bash\n", function, "() {");
  absl::StrAppend(&script, kBashHead);
  for (const FlagFacts& flag : flags) {
    if (flag.kind != FlagKind::kChoice) continue;
    absl::StrAppend(&script, "    ", Dashed(flag),
                    ")\n      mapfile -t COMPREPLY < <(compgen -W \"",
                    absl::StrJoin(flag.choices, " "), "\" -- \"$current\")\n      return ;;\n");
  }
  absl::StrAppend(&script, "    ", NamesOf(flags, FlagKind::kNumber, "|"), ") return ;;\n");
  absl::StrAppend(&script, "    ", NamesOf(flags, FlagKind::kText, "|"),
                  ")\n      mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n      return ;;");
  std::vector<std::string> names;
  for (const FlagFacts& flag : flags) names.push_back(Dashed(flag));
  absl::StrAppend(&script, absl::StrReplaceAll(kBashTail, {{"$flags", absl::StrJoin(names, " ")}}),
                  "complete -o filenames -F ", function, " ", program, "\n");
  return script;
}

std::string ZshCompletion(std::string_view program, const std::vector<FlagFacts>& flags) {
  std::string script = absl::StrCat("#compdef ", program, "\n# Printed by ", program,
                                    " --print-completion=zsh\n\n_arguments \\\n");
  for (const FlagFacts& flag : flags) script += ZshArgument(flag);
  return script + "  '*:model:_files'\n";
}

}  // namespace onnx_cudnn
