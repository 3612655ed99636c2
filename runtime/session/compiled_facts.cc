#include "runtime/session/compiled_facts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "onnx_cudnn/version.h"
#include "runtime/plan/known_devices.h"
#include "runtime/session/check_options.h"

namespace onnx_cudnn {
namespace {

// By the enumerators' numbers.
constexpr std::string_view kPrecisions[] = {"auto", "strict", "tf32", "fp16", "bf16"};
constexpr std::string_view kPartitioners[] = {"greedy", "cost"};

template <typename Choice, size_t n>
std::string_view NameOf(Choice choice, const std::string_view (&names)[n]) {
  return names[static_cast<size_t>(choice)];
}

template <typename Choice, size_t n>
bool Take(std::string_view name, const std::string_view (&names)[n], Choice& choice) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return false;
  choice = static_cast<Choice>(found - std::begin(names));
  return true;
}

// false: an unknown key, or a value that it cannot have.
bool Take(std::string_view key, std::string value, CompiledFacts& facts) {
  if (key == "version")
    facts.version = std::move(value);
  else if (key == "device")
    facts.device = std::move(value);
  else if (key == "capability")
    return absl::SimpleAtoi(value, &facts.compute_capability);
  else if (key == "level")
    return absl::SimpleAtoi(value, &facts.optimization_level);
  else if (key == "precision")
    return Take(value, kPrecisions, facts.precision);
  else if (key == "partitioner")
    return Take(value, kPartitioners, facts.partitioner);
  else if (key == "disabled-pass")
    facts.disabled_passes.push_back(std::move(value));
  else if (key == "keep-f32")
    facts.keep_f32.push_back(std::move(value));
  else if (key == "engine")
    facts.engines.push_back(std::move(value));
  else if (key == "not-optimized")
    facts.not_optimized = std::move(value);
  else
    return false;
  return true;
}

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

// Whether a word of `product`, or two, are `name`: "rtx4090" of "nvidia geforce rtx 4090".
bool Names(std::string_view name, std::string_view product) {
  const std::vector<std::string_view> words = absl::StrSplit(product, absl::ByAnyChar(" -"));
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == name) return true;
    if (i > 0 && absl::StrCat(words[i - 1], words[i]) == name) return true;
  }
  return false;
}

std::string Listed(const std::vector<std::string>& names) {
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

}  // namespace

std::string ThisVersion() {
  const BuildFacts build = Version();
  return build.commit.empty() ? build.version : absl::StrCat(build.version, " at ", build.commit);
}

bool AreOneDevice(std::string_view a, std::string_view b) {
  return a == b || Names(a, b) || Names(b, a);
}

std::string ToText(const CompiledFacts& facts) {
  std::string text;
  const auto add = [&](std::string_view key, std::string_view value) {
    absl::StrAppend(&text, key, " ", absl::CEscape(value), "\n");
  };
  add("version", facts.version);
  add("device", facts.device);
  add("capability", absl::StrCat(facts.compute_capability));
  add("level", absl::StrCat(facts.optimization_level));
  add("precision", NameOf(facts.precision, kPrecisions));
  add("partitioner", NameOf(facts.partitioner, kPartitioners));
  for (const std::string& pass : facts.disabled_passes) add("disabled-pass", pass);
  for (const std::string& node : facts.keep_f32) add("keep-f32", node);
  for (const std::string& engine : facts.engines) add("engine", engine);
  if (!facts.not_optimized.empty()) add("not-optimized", facts.not_optimized);
  return text;
}

absl::StatusOr<CompiledFacts> FactsFromText(std::string_view text) {
  CompiledFacts facts;
  for (const std::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<std::string_view, std::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    std::string value;
    if (!absl::CUnescape(parts.second, &value) || !Take(parts.first, std::move(value), facts)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a compiled model says what is not known: ", absl::CEscape(line)));
    }
  }
  return facts;
}

SessionOptions OptionsBy(const CompiledFacts& facts, SessionOptions asked) {
  if (asked.precision == PrecisionChoice::kAuto) asked.precision = facts.precision;
  if (facts.partitioner == PartitionerChoice::kCost) asked.partitioner = facts.partitioner;
  return asked;
}

std::string WhatDiffers(const CompiledFacts& facts, const SessionOptions& options,
                        const DeviceInfo& info) {
  const auto says = [](std::string_view made, std::string_view here) {
    return absl::StrFormat("compiled %s, here %s", made, here);
  };
  if (facts.version != ThisVersion()) {
    return says(absl::StrCat("by version ", facts.version), absl::StrCat("is ", ThisVersion()));
  }
  if (!AreOneDevice(facts.device, info.name)) {
    return says(absl::StrCat("for ", facts.device), absl::StrCat("is ", info.name));
  }
  if (facts.compute_capability != info.compute_capability) {
    return says(absl::StrCat("for compute capability ", CapabilityText(facts.compute_capability)),
                absl::StrCat("it is ", CapabilityText(info.compute_capability)));
  }
  // Of the precision, the passes read the type of products alone.
  if (ProductType(facts.precision) != ProductType(options.precision)) {
    return says(absl::StrCat("with precision ", NameOf(facts.precision, kPrecisions)),
                absl::StrCat(NameOf(options.precision, kPrecisions), " is asked for"));
  }
  if (facts.optimization_level != options.optimization_level) {
    return says(absl::StrCat("with optimization level ", facts.optimization_level),
                absl::StrCat(options.optimization_level, " is asked for"));
  }
  if (Sorted(facts.disabled_passes) != Sorted(options.disabled_passes)) {
    return says(absl::StrCat("with disabled passes: ", Listed(facts.disabled_passes)),
                absl::StrCat("are: ", Listed(options.disabled_passes)));
  }
  if (Sorted(facts.keep_f32) != Sorted(options.keep_f32)) {
    return says(absl::StrCat("with nodes kept in f32: ", Listed(facts.keep_f32)),
                absl::StrCat("are: ", Listed(options.keep_f32)));
  }
  return facts.not_optimized;
}

}  // namespace onnx_cudnn
