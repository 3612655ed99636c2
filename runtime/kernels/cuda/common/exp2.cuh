// Powers without the handling of subnormals, which become 0.
#pragma once

namespace onnx_cudnn {

inline constexpr float kLog2E = 1.4426950408889634F;

__device__ __forceinline__ float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace onnx_cudnn
