#include "tools/common/flag_aliases.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tools/common/foreign_flags.h"

namespace onnx_cudnn {
namespace {

// The argument "--name=…" with the name under which this tool has it: "precisions" for "precision";
// nullopt: it has none.
std::optional<std::string> Named(std::string_view argument, const IsFlag& is_flag) {
  const std::string_view name = argument.substr(2, argument.find('=') - 2);
  if (is_flag(name)) return std::string(argument);
  const std::string plural = absl::StrCat(name, "s");
  if (!is_flag(plural)) return std::nullopt;
  return absl::StrCat("--", plural, argument.substr(2 + name.size()));
}

// The equivalent arguments of this tool; nullopt: it has none.
std::optional<std::vector<std::string>> OursOf(const ForeignFlag& flag, std::string_view value,
                                               const IsFlag& is_flag) {
  if (flag.name == "onnx") return std::vector<std::string>{std::string(value)};
  if (flag.ours == nullptr) return std::nullopt;
  std::optional<std::vector<std::string>> arguments = flag.ours(value);
  if (!arguments.has_value()) return std::nullopt;
  for (std::string& argument : *arguments) {
    std::optional<std::string> named = Named(argument, is_flag);
    if (!named.has_value()) return std::nullopt;
    argument = *std::move(named);
  }
  return arguments;
}

// "fp16" for "--fp16" and "--fp16=1", "e" for "-e"; empty: no flag.
std::string_view NameOfFlag(std::string_view argument) {
  const bool is_long = absl::ConsumePrefix(&argument, "--");
  if (!is_long && !absl::ConsumePrefix(&argument, "-")) return "";
  argument = argument.substr(0, argument.find('='));
  const bool is_letter = argument.size() == 1 && absl::ascii_isalpha(argument[0]);
  return is_long || is_letter ? argument : "";
}

// The number of letters to insert, drop or change to turn `b` into `a`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> WithOurFlags(const std::vector<std::string>& arguments,
                                      const IsFlag& is_flag) {
  std::vector<std::string> translated;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {  // everything after it is positional
      translated.insert(translated.end(), arguments.begin() + i, arguments.end());
      break;
    }
    const std::string_view name = NameOfFlag(argument);
    const ForeignFlag* flag = name.empty() || is_flag(name) ? nullptr : FindForeignFlag(name);
    if (flag == nullptr) {
      translated.push_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    std::string value = equals == argument.npos ? "" : argument.substr(equals + 1);
    const bool takes_next =
        flag->takes_value && equals == argument.npos && i + 1 < arguments.size();
    if (takes_next) value = arguments[++i];
    if (const auto ours = OursOf(*flag, value, is_flag)) {
      translated.insert(translated.end(), ours->begin(), ours->end());
    } else {
      translated.push_back(takes_next ? absl::StrCat(argument, "=", value) : argument);
    }
  }
  return translated;
}

std::string SuggestionFor(std::string_view name, const std::vector<std::string>& flags) {
  if (const ForeignFlag* foreign = FindForeignFlag(name)) {
    return absl::StrCat("here: ", foreign->answer);
  }
  const std::string plain = PlainName(name);
  constexpr size_t kFarthest = 2;
  std::string nearest;
  size_t least = kFarthest + 1;
  for (const std::string& flag : flags) {
    const size_t distance = EditDistance(plain, PlainName(flag));
    if (distance < least && distance < plain.size()) least = distance, nearest = flag;
  }
  return nearest.empty() ? "" : absl::StrCat("did you mean --", nearest, "?");
}

}  // namespace onnx_cudnn
