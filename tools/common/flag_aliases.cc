#include "tools/common/flag_aliases.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace onnx_cudnn {
namespace {

// A flag of another tool and its equivalents: the first of `ours` that this tool defines is used.
struct Alias {
  std::string_view theirs;
  std::vector<std::string_view> ours;  // "runs" takes its value; "precision=fp16" has its own
};

const std::vector<Alias>& Aliases() {
  static const auto* const kAliases = new std::vector<Alias>{
      {"fp16", {"precision=fp16", "precisions=fp16"}},
      {"bf16", {"precision=bf16", "precisions=bf16"}},
      {"noTF32", {"precision=strict", "precisions=strict"}},
      {"iterations", {"runs"}},
      {"warmUp", {"warm-up"}},
      {"duration", {"seconds"}},
  };
  return *kAliases;
}

struct Hint {
  std::string_view theirs;
  std::string_view says;
};

constexpr std::string_view kPlanCacheHint =
    "--plan-cache FILE keeps what was measured; the model file itself is what runs";
constexpr std::string_view kExplainHint = "onnx-cudnn-opt MODEL --explain --target h200";
constexpr std::string_view kShapeHint = "--shape name=1x3x224x224; any other shape works as well";

constexpr Hint kHints[] = {
    {"saveengine", kPlanCacheHint},
    {"loadengine", kPlanCacheHint},
    {"timingcachefile", kPlanCacheHint},
    {"minshapes", kShapeHint},
    {"optshapes", kShapeHint},
    {"maxshapes", kShapeHint},
    {"inputshapes", kShapeHint},
    {"loadinputs", "--input name=FILE.npy"},
    {"exportoutput", "--output-dir FOLDER"},
    {"loadoutputs", "--verify FOLDER, which holds a NAME.npy for each output"},
    {"saveoutputs", "--output-dir FOLDER"},
    {"exporttimes", "--json"},
    {"exportprofile", kExplainHint},
    {"exportlayerinfo", kExplainHint},
    {"dumpprofile", kExplainHint},
    {"dumplayerinfo", kExplainHint},
    {"explain", kExplainHint},
    {"target", kExplainHint},
    {"usecudagraph", "CUDA graphs are used unless --no-cuda-graph is given"},
    {"mempoolsize", "--max-memory BYTES"},
    {"workspace", "--max-memory BYTES"},
    {"best", "--precision fp16 --partitioner cost --tune-budget 60"},
    {"int8", "a model that is quantized runs as it is"},
    {"fp8", "a model that is quantized runs as it is"},
    {"onnxrt", "--verify expected.npz compares with outputs of another runtime"},
    {"trt", "--device cuda"},
    {"executionprovider", "--device cuda"},
    {"gpu", "--device cuda"},
    {"duration", "onnx-cudnn-bench MODEL --seconds 3"},
};

// The normal form for kHints: lower-case letters only.
std::string Plain(std::string_view name) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"-", ""}, {"_", ""}}));
}

std::optional<std::string> OursOf(const Alias& alias, const IsFlag& is_flag) {
  for (const std::string_view ours : alias.ours) {
    if (is_flag(ours.substr(0, ours.find('=')))) return absl::StrCat("--", ours);
  }
  return std::nullopt;
}

// trtexec's "x:1x3,y:1" as an argument per input. A name may contain colons, a shape may not.
void AddShapes(std::string_view text, std::vector<std::string>& to) {
  for (const std::string_view shape : absl::StrSplit(text, ',')) {
    std::string argument = absl::StrCat("--shape=", shape);
    const size_t colon = argument.rfind(':');
    if (colon != argument.npos) argument[colon] = '=';
    to.push_back(std::move(argument));
  }
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
    std::string_view name = arguments[i];
    if (name == "--") {  // everything after it is positional
      translated.insert(translated.end(), arguments.begin() + i, arguments.end());
      break;
    }
    const bool is_theirs =
        absl::ConsumePrefix(&name, "--") && !is_flag(name.substr(0, name.find('=')));
    if (!is_theirs) {
      translated.push_back(arguments[i]);
      continue;
    }
    const size_t end = name.find('=');
    std::optional<std::string> value;
    if (end != name.npos) value = std::string(name.substr(end + 1));
    name = name.substr(0, end);
    // The value of a flag that requires one, possibly the next argument.
    const auto take_value = [&] {
      if (!value.has_value() && i + 1 < arguments.size()) value = arguments[++i];
      return value.value_or("");
    };
    const auto alias = std::find_if(Aliases().begin(), Aliases().end(),
                                    [&](const Alias& a) { return a.theirs == name; });
    const std::optional<std::string> ours =
        alias == Aliases().end() ? std::nullopt : OursOf(*alias, is_flag);
    if (name == "onnx") {
      translated.push_back(take_value());
    } else if (name == "shapes" && is_flag("shape")) {
      AddShapes(take_value(), translated);
    } else if (ours.has_value() && !absl::StrContains(*ours, '=')) {
      translated.push_back(absl::StrCat(*ours, "=", take_value()));
    } else if (ours.has_value() && !value.has_value()) {
      translated.push_back(*ours);
    } else {
      translated.push_back(arguments[i]);
    }
  }
  return translated;
}

std::string SuggestionFor(std::string_view name, const std::vector<std::string>& flags) {
  const std::string plain = Plain(name);
  for (const Hint& hint : kHints) {
    if (hint.theirs == plain) return std::string(hint.says);
  }
  constexpr size_t kFarthest = 2;
  std::string nearest;
  size_t least = kFarthest + 1;
  for (const std::string& flag : flags) {
    const size_t distance = EditDistance(plain, Plain(flag));
    if (distance < least && distance < plain.size()) least = distance, nearest = "--" + flag;
  }
  return nearest;
}

}  // namespace onnx_cudnn
