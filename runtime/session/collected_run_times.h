#pragma once

#include "onnx_cudnn/export.h"
#include "runtime/base/not_copyable.h"
#include "runtime/base/run_times.h"

namespace onnx_cudnn {

// While it lives, `times` collects those of Runs on this thread. Not nested. Exported for the
// tools, which have PhaseTimers of their own: those of the library collect.
class ONNX_CUDNN_API CollectedRunTimes : NotCopyable {
 public:
  explicit CollectedRunTimes(RunTimes& times);
  ~CollectedRunTimes();
};

}  // namespace onnx_cudnn
