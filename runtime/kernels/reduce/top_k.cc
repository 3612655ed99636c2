#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

// TopK of numbers along any axis, row-major, largest or smallest; among equals the lower index
// first. A warp, or a block for more than 1,024 numbers, reads a row once and keeps what is not
// worse than a bound that its threads' best numbers give; where that is too much, as among many
// equals, it finds the limit byte by byte, with a histogram each. The blocks of a row of more than
// 16,384 numbers each select their best first. For K above 1,024 whole rows are sorted.
Kernel TopKKernel() {
  return {.ops = {"TopK"},
          .types = kNumberTypes,
          .speed = {.traffic = &TrafficShares::top_k, .launches = 2}};
}

}  // namespace onnx_cudnn
