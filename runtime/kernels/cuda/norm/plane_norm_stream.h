// Normalizes channels-last planes that are too large for a block, in one launch that reads them
// twice, the second time from L2.
#pragma once

#include "runtime/kernels/cuda/norm/plane_norm.h"

namespace onnx_cudnn {

// lanes.pitch is not 0. Consists of a fill of the workspace's first bytes and a launch.
PlaneNormCalls PlaneNormStream(DType dtype, const PlaneLanes& lanes,
                               const PlaneNormOptions& options, const PlaneNormSlots& slots);

}  // namespace onnx_cudnn
