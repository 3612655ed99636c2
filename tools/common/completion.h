#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/common/program_flags.h"

namespace onnx_cudnn {

// A script that completes the flags of `program`, their values and file names; to be sourced by
// bash.
std::string BashCompletion(std::string_view program, const std::vector<FlagFacts>& flags);

// The same for zsh: a file for a folder of its fpath, called _PROGRAM.
std::string ZshCompletion(std::string_view program, const std::vector<FlagFacts>& flags);

}  // namespace onnx_cudnn
