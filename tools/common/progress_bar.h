#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace onnx_cudnn {

// "tuning  [=======>            ] 14 of 40"
std::string ProgressBar(std::string_view what, int64_t done, int64_t total);

// For SessionOptions::tune_progress: redraws that bar on standard error and removes it when
// everything is done; empty if standard error is not a terminal.
std::function<void(int64_t done, int64_t total)> TuneProgressBar();

}  // namespace onnx_cudnn
