#include "tools/common/program_flags.h"

#include <algorithm>
#include <utility>

#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "passes/pipelines.h"
#include "runtime/session/engines.h"
#include "tools/common/image_input.h"

namespace onnx_cudnn {
namespace {

using Texts = std::vector<std::string>;

// The values of flags that take one of a few words. A switch of the same name has none.
Texts ChoicesOf(std::string_view name) {
  static const auto& choices = *new std::vector<std::pair<std::string_view, Texts>>{
      {"against", {"greedy", "cost"}},
      {"color", {"auto", "always", "never"}},
      {"device", {"auto", "cpu", "cuda"}},
      {"first-program", {"best", "quick"}},
      {"image-fit", {"stretch", "crop", "stretch-crop"}},
      {"image-order", {"rgb", "bgr"}},
      {"level", {"0", "1", "2"}},
      {"partitioner", {"greedy", "cost"}},
      {"precision", {"auto", "strict", "tf32", "fp16", "bf16"}},
      {"precisions", {"auto", "strict", "tf32", "fp16", "bf16"}},
      {"print-completion", {"bash", "zsh"}},
      {"tune", {"foreground", "background"}},
  };
  for (const auto& [flag, values] : choices) {
    if (flag == name) return values;
  }
  if (name == "image") {
    Texts names;
    for (const ImagePreset& preset : AllImagePresets()) names.emplace_back(preset.name);
    return names;
  }
  if (name == "target") return absl::StrSplit(TargetNames(), ", ");
  if (name == "passes" || name == "disable-passes" || name == "print-after") return PassNames();
  return {};
}

FlagFacts FactsOf(std::string_view name, const absl::CommandLineFlag& flag) {
  FlagFacts facts{.name = WithDashes(name), .standard = flag.DefaultValue(), .help = flag.Help()};
  if (flag.IsOfType<bool>()) {
    facts.kind = FlagKind::kSwitch;
    return facts;
  }
  facts.choices = ChoicesOf(facts.name);
  const bool is_number = flag.IsOfType<int>() || flag.IsOfType<int64_t>() ||
                         flag.IsOfType<uint64_t>() || flag.IsOfType<double>();
  if (!facts.choices.empty()) {
    facts.kind = FlagKind::kChoice;
  } else if (is_number) {
    facts.kind = FlagKind::kNumber;
  }
  return facts;
}

// Those that ParseFlags reads itself.
std::vector<FlagFacts> CommonFlags() {
  return {{.name = "color",
           .standard = "auto",
           .help = "Colours of messages on standard error. auto: on a terminal, unless the "
                   "environment variable NO_COLOR is set.",
           .kind = FlagKind::kChoice,
           .choices = ChoicesOf("color")},
          {.name = "help", .standard = "", .help = "Prints this text.", .kind = FlagKind::kSwitch},
          {.name = "print-completion",
           .standard = "",
           .help = "Prints the completion script for this shell. bash: source it, or install it "
                   "in share/bash-completion/completions.",
           .kind = FlagKind::kChoice,
           .choices = ChoicesOf("print-completion")},
          {.name = "print-man",
           .standard = "",
           .help = "Prints the man page: --print-man | man -l -",
           .kind = FlagKind::kSwitch},
          {.name = "version",
           .standard = "",
           .help = "Prints the release, and what this build is made of.",
           .kind = FlagKind::kSwitch}};
}

}  // namespace

std::string WithDashes(std::string_view name) { return absl::StrReplaceAll(name, {{"_", "-"}}); }

std::string ProgramOf(std::string_view source_file) {
  return WithDashes(absl::StripSuffix(source_file, ".cc"));
}

std::vector<FlagFacts> FlagsOf(std::string_view source_file) {
  std::vector<FlagFacts> flags = CommonFlags();
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (absl::EndsWith(flag->Filename(), source_file)) flags.push_back(FactsOf(name, *flag));
  }
  std::sort(flags.begin(), flags.end(),
            [](const FlagFacts& a, const FlagFacts& b) { return a.name < b.name; });
  return flags;
}

}  // namespace onnx_cudnn
