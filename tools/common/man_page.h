#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/common/program_flags.h"

namespace onnx_cudnn {

// The man page (section 1) of `program`, for groff.
//   usage    its first line is "PROGRAM ARGUMENTS: what it does."; the rest is shown as it is
//   version  of the release
std::string ManPage(std::string_view program, std::string_view usage,
                    const std::vector<FlagFacts>& flags, std::string_view version);

}  // namespace onnx_cudnn
