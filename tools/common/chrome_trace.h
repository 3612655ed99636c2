#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onnx_cudnn/profile.h"
#include "runtime/base/host_span.h"

namespace onnx_cudnn {

// The runs of a profile, and what the host did, in the JSON of Chrome's trace events, which
// Perfetto (ui.perfetto.dev) and chrome://tracing open: of the device one track per stream and one
// of copies with their bytes, of the host one of its calls. The host's clock places the runs, so
// that a track of a GPU may be off by the time that a launch takes to arrive.
//   device  "cuda"
std::string ChromeTrace(const RunProfile& profile, const std::vector<HostSpan>& calls,
                        std::string_view device);

}  // namespace onnx_cudnn
