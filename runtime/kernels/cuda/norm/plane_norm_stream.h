// Normalizes channels-last planes that are too large for a block, in one launch. Blocks keep what
// they read in shared memory; what they have no memory for is read twice.
#pragma once

#include "runtime/kernels/cuda/norm/plane_norm.h"

namespace onnx_cudnn {

// lanes.pitch is not 0. Consists of a fill of the workspace's first bytes and a launch.
PlaneNormCalls PlaneNormStream(DType dtype, const PlaneLanes& lanes,
                               const PlaneNormOptions& options, const PlaneNormSlots& slots);

}  // namespace onnx_cudnn
