#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// Boxes of each class of a batch, the best score first, the lower index first among equals; those
// that overlap one selected before are left out.
struct SuppressionPlan {
  Slot boxes, scores;                 // f32[batches, boxes, 4], f32[batches, classes, boxes]
  Slot to, count;                     // i64[batches × classes × most × 3] (then zeros), i64[1]
  std::optional<Slot> iou_threshold;  // an f32; nullopt: 0. A fault kNumber has the bits of one
                                      // that is not 0 to 1
  std::optional<Slot> score_threshold;
  int64_t batches = 0, classes = 0;
  int64_t count_of_boxes = 0;  // below 2^31
  int64_t most = 0;            // selected per batch and class; at most the boxes
  bool is_center = false;      // x, y, width, height; otherwise y, x, y, x
};
struct SuppressionCode {
  std::vector<KernelCall> calls;
  int64_t workspace_bytes = 0;
};
SuppressionCode CodeOf(const SuppressionPlan& plan);

}  // namespace onnx_cudnn
