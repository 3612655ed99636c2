#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// `count` non-blocking streams, ordered by events only. A capture holds CaptureMutex.
absl::StatusOr<std::unique_ptr<StreamSet>> MakeCudaStreams(int count);

}  // namespace onnx_cudnn
