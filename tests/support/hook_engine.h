// An Engine whose launches a test hears of.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/exec/host_engine.h"
#include "runtime/plan/known_devices.h"
#include "runtime/session/engines.h"
#include "tests/support/relu_engine.h"

namespace onnx_cudnn {

struct Hooks {
  std::function<void()> launch = nullptr;          // before each launch; may be empty
  std::function<absl::Status()> status = nullptr;  // what a launch returns; may be empty
  std::function<void()> compile = nullptr;         // before each Compile; may be empty
};

// y = max(x, 0)
class HookRelu final : public Step {
 public:
  HookRelu(const Hooks& hooks, int64_t elements) : hooks_(hooks), elements_(elements) {}
  absl::Status Launch(const LaunchArgs& args) const override {
    if (hooks_.launch) hooks_.launch();
    if (hooks_.status) RETURN_IF_ERROR(hooks_.status());
    const auto* x = static_cast<const float*>(args.in[0]);
    auto* y = static_cast<float*>(args.out[0]);
    for (int64_t i = 0; i < elements_; ++i) y[i] = std::max(x[i], 0.0f);
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }

 private:
  const Hooks& hooks_;
  const int64_t elements_;
};

// Takes Relu, without a choice of Variants.
class HookEngine final : public ReluEngine {
 public:
  // hooks  must outlive it
  explicit HookEngine(const Hooks& hooks) : hooks_(hooks) {}
  std::string_view name() const override { return "hook"; }
  Cost Price(const Candidate&, const Target&) const override { return {.us = 1e-3}; }
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    if (hooks_.compile) hooks_.compile();
    const int64_t elements = candidate.nodes[0]->output(0).elements();
    return Compiled::As(std::make_shared<HookRelu>(hooks_, elements));
  }

 private:
  const Hooks& hooks_;
};

// The HookEngine for Relu, the references in the device's memory for the rest.
inline OwnedTarget HookTarget(const Hooks& hooks) {
  EngineList engines;
  engines.push_back(std::make_unique<HookEngine>(hooks));
  engines.push_back(MakeHostEngine(Space::kDevice));
  return TargetOver(std::move(engines), H200());
}

}  // namespace onnx_cudnn
