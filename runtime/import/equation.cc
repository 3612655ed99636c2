#include "runtime/import/equation.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace onnx_cudnn {
namespace {

bool IsTerm(std::string_view term) {
  if (const size_t ellipsis = term.find("..."); ellipsis != term.npos) {
    return IsTerm(term.substr(0, ellipsis)) &&
           std::all_of(term.begin() + ellipsis + 3, term.end(), absl::ascii_isalpha);
  }
  return std::all_of(term.begin(), term.end(), absl::ascii_isalpha);
}

}  // namespace

absl::Status NormalizeEquation(NodeSpec& spec) {
  const auto* equation = spec.attrs.Get<std::string>("equation");
  if (spec.op != "Einsum" || equation == nullptr) return absl::OkStatus();
  std::string plain = absl::StrReplaceAll(*equation, {{" ", ""}});
  const std::pair<std::string_view, std::string_view> sides =
      absl::StrSplit(plain, absl::MaxSplits("->", 1));
  for (std::string_view term : absl::StrSplit(sides.first, ',')) {
    if (!IsTerm(term)) {
      return absl::InvalidArgumentError(
          "a term of the equation holds more than letters and one ellipsis");
    }
  }
  if (!IsTerm(sides.second)) {
    return absl::InvalidArgumentError(
        "the equation's result holds more than letters and one ellipsis");
  }
  spec.attrs.Set("equation", std::move(plain));
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
