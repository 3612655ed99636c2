#include "tools/common/flag_values.h"

#include <cstdint>
#include <string_view>

#include "absl/flags/reflection.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tools/common/program_flags.h"

namespace onnx_cudnn {
namespace {

std::string_view Expected(const absl::CommandLineFlag& flag) {
  if (flag.IsOfType<bool>()) return "true or false";
  if (flag.IsOfType<double>() || flag.IsOfType<float>()) return "a number";
  if (flag.IsOfType<uint64_t>()) return "a whole number of 0 or more";
  return "a whole number";
}

}  // namespace

absl::Status CheckFlagValues(const std::vector<std::string>& arguments) {
  for (size_t i = 1; i < arguments.size() && arguments[i] != "--"; ++i) {
    std::string_view name = arguments[i];
    if (!absl::ConsumePrefix(&name, "--") && !absl::ConsumePrefix(&name, "-")) continue;
    const size_t equals = name.find('=');
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name.substr(0, equals));
    if (flag == nullptr) continue;
    const bool has_value = equals != name.npos;
    if (flag->IsOfType<bool>() && !has_value) continue;
    const std::string shown = WithDashes(flag->Name());
    if (!has_value && i + 1 == arguments.size()) {
      return absl::InvalidArgumentError(absl::StrCat("--", shown, ": expected a value"));
    }
    const std::string value(has_value ? name.substr(equals + 1) : arguments[++i]);
    std::string error;
    const bool is_text =
        flag->IsOfType<std::string>() || flag->IsOfType<std::vector<std::string>>();
    if (is_text || flag->ParseFrom(value, &error)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", shown, ": expected ", Expected(*flag), ", found ", value));
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
