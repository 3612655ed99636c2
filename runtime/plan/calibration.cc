#include "runtime/plan/calibration.h"

#include <algorithm>

namespace onnx_cudnn {

double MeasuredLine::At(int64_t flops) const {
  return std::max(least_us, fixed_us + us_per_gigaflop * 1e-9 * static_cast<double>(flops));
}

}  // namespace onnx_cudnn
