// Flags of trtexec, Polygraphy and onnxruntime's perf_test on our command lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_cudnn {

// Whether this tool defines a flag of that name, with dashes.
using IsFlag = std::function<bool(std::string_view name)>;

// `arguments` with the flags of those tools that mean what a flag of ours means under our names:
// --fp16 as --precision=fp16, --iterations 10 as --runs=10, --shapes=x:1x3,y:1 as --shape=x=1x3
// --shape=y=1, --onnx=FILE as the file itself. A flag that this tool has stays as it is.
std::vector<std::string> WithOurFlags(const std::vector<std::string>& arguments,
                                      const IsFlag& is_flag);

// What to type instead of the unknown flag `name`: what does here what that flag does in another
// tool, else the name among `flags` that is at most two letters away; empty: nothing is known.
std::string SuggestionFor(std::string_view name, const std::vector<std::string>& flags);

}  // namespace onnx_cudnn
