#include <algorithm>

#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {
namespace {

// A block eliminates one matrix, so that few matrices leave multiprocessors idle.
double EliminationUs(const Unit& unit, const Cost& cost, const Target& target) {
  constexpr double kPivotUs = 1;       // a search and three barriers: a guess
  constexpr double kBlocksAtOnce = 8;  // of a multiprocessor
  const DeviceInfo& info = target.info;
  const Value& x = unit.node().input(0);
  const auto n = static_cast<double>(x.dim(x.rank() - 1));
  const double matrices = std::max(1.0, static_cast<double>(x.elements()) / std::max(1.0, n * n));
  const auto multiprocessors = static_cast<double>(std::max(1, info.multiprocessors));
  const double share = info.calibration.kernels.arithmetic.elimination;
  const double flops_per_us = share * info.f32_flops_per_us / (x.dtype() == DType::kF64 ? 2 : 1);
  const double idle = std::max(1.0, multiprocessors / matrices);
  const double waves = std::max(1.0, matrices / (multiprocessors * kBlocksAtOnce));
  return static_cast<double>(cost.bytes) / info.bytes_per_us +
         idle * static_cast<double>(cost.flops) / flops_per_us + waves * n * kPivotUs +
         info.launch_us + info.dependent_kernel_us;
}

}  // namespace

// Det, and Inverse of com.microsoft, row-major: Gauss's elimination with partial pivoting, each
// matrix by a block, in shared memory if it fits.
Kernel EliminationKernel() { return {.ops = {"Det", "Inverse"}, .us = EliminationUs}; }

}  // namespace onnx_cudnn
