#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "runtime/plan/step.h"

namespace onnx_cudnn {

using Change = std::function<void(float* y)>;

// y = max(x, 0) of so many lanes, and then what `change` does to it.
class ChangedRelu final : public Step {
 public:
  ChangedRelu(int64_t lanes, Change change) : lanes_(lanes), change_(std::move(change)) {}
  absl::Status Launch(const LaunchArgs& args) const override {
    const auto* x = static_cast<const float*>(args.in[0]);
    auto* y = static_cast<float*>(args.out[0]);
    for (int64_t i = 0; i < lanes_; ++i) y[i] = std::max(x[i], 0.0f);
    change_(y);
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }

 private:
  const int64_t lanes_;
  const Change change_;
};

}  // namespace onnx_cudnn
