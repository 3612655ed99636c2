#pragma once

#include <string>

#include "onnx_cudnn/version.h"

namespace onnx_cudnn {

// The answer to --version: "onnx-cudnn 0.1.0", then one line per fact.
std::string VersionText(const BuildFacts& facts);

}  // namespace onnx_cudnn
