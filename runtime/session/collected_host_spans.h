#pragma once

#include <vector>

#include "onnx_cudnn/export.h"
#include "runtime/base/host_span.h"
#include "runtime/base/not_copyable.h"

namespace onnx_cudnn {

// While it lives, `spans` collects those of the library on this thread. Not nested. Exported for
// the tools, as CollectedRunTimes is.
class ONNX_CUDNN_API CollectedHostSpans : NotCopyable {
 public:
  explicit CollectedHostSpans(std::vector<HostSpan>& spans);
  ~CollectedHostSpans();
};

}  // namespace onnx_cudnn
