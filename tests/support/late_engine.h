// An Engine whose Variants take known times.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/relu_engine.h"

namespace onnx_cudnn {

// What a Variant of the LateEngine does.
struct LateVariant {
  double ms = 0;  // that a launch takes
  float off = 0;  // how far its outputs are from the Node's
  int64_t workspace_bytes = 0;
  bool refused = false;
  bool fails = false;  // when it is launched
  std::string saved = "";
  double compile_ms = 0;
};

// y = max(x, 0) + off, late.
class LateRelu final : public Step {
 public:
  LateRelu(const LateVariant& variant, int64_t elements) : variant_(variant), elements_(elements) {}
  int64_t workspace_bytes() const override { return variant_.workspace_bytes; }
  absl::Status Launch(const LaunchArgs& args) const override {
    if (variant_.fails) return absl::InternalError("it broke");
    absl::SleepFor(absl::Milliseconds(variant_.ms));
    const auto* x = static_cast<const float*>(args.in[0]);
    auto* y = static_cast<float*>(args.out[0]);
    for (int64_t i = 0; i < elements_; ++i) y[i] = std::max(x[i], 0.0f) + variant_.off;
    return absl::OkStatus();
  }
  std::string Save() const override { return variant_.saved; }

 private:
  const LateVariant variant_;
  const int64_t elements_;
};

// "0", "1", …
inline std::vector<Variant> NumberedVariants(size_t count) {
  std::vector<Variant> variants;
  for (size_t i = 0; i < count; ++i) variants.push_back({absl::StrCat(i)});
  return variants;
}

// Takes Relu in these variants; heuristics choose the first.
class LateEngine : public ReluEngine {
 public:
  LateEngine(std::string name, std::vector<LateVariant> variants)
      : name_(std::move(name)), variants_(std::move(variants)) {}

  std::string_view name() const override { return name_; }
  std::string version() const override { return "7"; }
  Cost Price(const Candidate&, const Target&) const override { return {.us = 0.1}; }
  absl::StatusOr<std::vector<Variant>> Variants(const Candidate&, const Target&) const override {
    return NumberedVariants(variants_.size());
  }
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                   const Target&) const override {
    ++compiled;
    size_t i = 0;
    EXPECT_TRUE(absl::SimpleAtoi(variant.text, &i));
    absl::SleepFor(absl::Milliseconds(variants_[i].compile_ms));
    if (variants_[i].refused) return Compiled::No("it will not");
    const int64_t elements = candidate.nodes[0]->output(0).elements();
    return Compiled::As(std::make_shared<LateRelu>(variants_[i], elements));
  }

  // "saved" loads.
  absl::StatusOr<std::shared_ptr<const Step>> Load(std::string_view saved, const Candidate&,
                                                   const Target&) const override {
    if (saved != "saved") return absl::FailedPreconditionError("of another device");
    ++loaded;
    return std::make_shared<LateRelu>(variants_[0], 100);
  }

  mutable std::atomic<int> compiled = 0;
  mutable std::atomic<int> loaded = 0;

 private:
  const std::string name_;
  const std::vector<LateVariant> variants_;
};

}  // namespace onnx_cudnn
