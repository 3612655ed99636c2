#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace onnx_cudnn {

// "tuning  [=======>            ] 14 of 40"
std::string ProgressBar(std::string_view what, int64_t done, int64_t total);

// For SessionOptions::tune_progress: draws that bar over itself on standard error, and takes it
// away when all is done; empty where standard error is no terminal.
std::function<void(int64_t done, int64_t total)> TuneProgressBar();

}  // namespace onnx_cudnn
