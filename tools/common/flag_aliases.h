// Accepts flags of trtexec, Polygraphy and onnxruntime's perf_test.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_cudnn {

// Whether this tool defines a flag of that name (given with dashes).
using IsFlag = std::function<bool(std::string_view name)>;

// Translates flags of those tools that have an equivalent here (foreign_flags.h): --fp16 to
// --precision=fp16, --iterations 10 and -r 10 to --runs=10, --shapes=x:1x3,y:1 to --shape=x=1x3
// --shape=y=1, --onnx=FILE to the file itself. A flag that this tool defines is not changed; one
// without equivalent stays, together with its value.
std::vector<std::string> WithOurFlags(const std::vector<std::string>& arguments,
                                      const IsFlag& is_flag);

// What to say about the unknown flag `name`: "here: " and what to do instead, for another tool's
// flag; "did you mean --x?" for the name among `flags` that differs by at most two letters; empty:
// nothing is known.
std::string SuggestionFor(std::string_view name, const std::vector<std::string>& flags);

}  // namespace onnx_cudnn
