#pragma once

#include <vector>

#include "onnx_cudnn/export.h"
#include "runtime/base/start_times.h"

namespace onnx_cudnn {

// StartTimes of the library. Exported for the tools, as CollectedRunTimes is.
ONNX_CUDNN_API std::vector<StartTime> ProcessStartTimes();

}  // namespace onnx_cudnn
