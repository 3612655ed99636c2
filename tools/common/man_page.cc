#include "tools/common/man_page.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kLongestTag = 50;  // of a list of choices beside the flag

// Lines of `text` that groff prints as they are.
std::string Escaped(std::string_view text) {
  const std::string plain = absl::StrReplaceAll(text, {{"\\", "\\e"},
                                                       {"-", "\\-"},
                                                       {"'", "\\(aq"},
                                                       {"`", "\\(ga"},
                                                       {"~", "\\(ti"},
                                                       {"^", "\\(ha"}});
  std::vector<std::string> lines = absl::StrSplit(plain, '\n');
  for (std::string& line : lines) {
    if (line.starts_with('.')) line.insert(0, "\\&");
  }
  return absl::StrJoin(lines, "\n");
}

std::string Option(const FlagFacts& flag) {
  std::string value, choices;
  if (flag.kind == FlagKind::kChoice) {
    value = absl::StrCat("=", absl::StrJoin(flag.choices, "|"));
    if (value.size() > kLongestTag) {
      value = "=VALUE";
      choices = absl::StrCat("\nOne of: ", absl::StrJoin(flag.choices, ", "), ".");
    }
  }
  if (flag.kind == FlagKind::kNumber) value = "=NUMBER";
  if (flag.kind == FlagKind::kText) value = "=VALUE";
  std::string text = absl::StrCat(".TP\n.B ", Escaped(absl::StrCat("--", flag.name, value)), "\n",
                                  Escaped(absl::StrCat(flag.help, choices)), "\n");
  const bool has_standard = !flag.standard.empty() && flag.kind != FlagKind::kSwitch;
  if (has_standard) absl::StrAppend(&text, "Default: ", Escaped(flag.standard), ".\n");
  return text;
}

}  // namespace

std::string ManPage(std::string_view program, std::string_view usage,
                    const std::vector<FlagFacts>& flags, std::string_view version) {
  const std::pair<std::string_view, std::string_view> parts =
      absl::StrSplit(usage, absl::MaxSplits('\n', 1));
  const std::pair<std::string_view, std::string_view> first =
      absl::StrSplit(parts.first, absl::MaxSplits(": ", 1));
  std::string_view synopsis = first.first;
  absl::ConsumePrefix(&synopsis, program);
  std::string page = absl::StrCat(
      ".TH ", absl::AsciiStrToUpper(program), " 1 \"\" \"onnx\\-cudnn ", version,
      "\"\n.ad l\n.SH NAME\n", Escaped(program), " \\- ",
      Escaped(absl::StripSuffix(first.second, ".")), "\n.SH SYNOPSIS\n.B ", Escaped(program), "\n",
      Escaped(absl::StripAsciiWhitespace(synopsis)), "\n.SH DESCRIPTION\n.nf\n",
      Escaped(absl::StripPrefix(parts.second, "\n")), "\n.fi\n",
      ".SH OPTIONS\nA flag and its value are joined by = or a blank; a switch is turned off by ",
      "\\-\\-no followed by its name.\n");
  for (const FlagFacts& flag : flags) page += Option(flag);
  return page;
}

}  // namespace onnx_cudnn
