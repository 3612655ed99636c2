// The fault word (Slot::Fault): how kernels encode it and how the host decodes it.
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/common/fast_divide.cuh"

namespace onnx_cudnn {

enum class FaultKind : uint8_t {
  kNone,
  kIndex,         // `number` is an index outside axis `axis`
  kExtent,        // axis `axis` of the output would have `number` elements
  kZeroStep,      // a step is 0
  kAxis,          // `number` is an axis outside the rank
  kRepeatedAxis,  // axis `number` occurs twice
  kNumber,        // `number` differs from what the kernel was compiled for, at position `axis`
};

struct Fault {
  FaultKind kind = FaultKind::kNone;
  int axis = 0;
  int64_t number = 0;
};

// kind, axis (below 256) and number in one word, which is 0 only if there is no fault. Numbers of
// more than 51 bits are clamped.
ONNX_CUDNN_BOTH uint64_t FaultWord(const Fault& fault) {
  constexpr int64_t kMost = (int64_t{1} << 51) - 1;
  int64_t number = fault.number;
  if (number > kMost) number = kMost;
  if (number < -kMost) number = -kMost;
  return static_cast<uint64_t>(number) << 12 | static_cast<uint64_t>(fault.axis & 255) << 4 |
         static_cast<uint64_t>(fault.kind);
}
ONNX_CUDNN_BOTH Fault FaultOf(uint64_t word) {
  return {static_cast<FaultKind>(word & 15), static_cast<int>(word >> 4 & 255),
          static_cast<int64_t>(word) >> 12};
}

// The elements of an i32 or i64 operand, on the host or the device.
struct Integers {
  const void* at = nullptr;  // nullptr: the operand is absent
  int64_t count = 0;
  bool is_wide = true;  // i64

  ONNX_CUDNN_BOTH int64_t operator[](int64_t i) const {
    return is_wide ? static_cast<const int64_t*>(at)[i] : static_cast<const int32_t*>(at)[i];
  }
};

// Two numbers in one; numbers of more than 25 bits are clamped.
ONNX_CUDNN_BOTH int64_t CoupleOf(int64_t a, int64_t b) {
  constexpr int64_t kMost = (int64_t{1} << 24) - 1;
  a = a > kMost ? kMost : a < -kMost ? -kMost : a;
  b = b > kMost ? kMost : b < -kMost ? -kMost : b;
  return a * (int64_t{1} << 25) + b;
}
inline int64_t SecondOf(int64_t couple) {
  const int64_t rest = couple & ((int64_t{1} << 25) - 1);
  return rest < int64_t{1} << 24 ? rest : rest - (int64_t{1} << 25);
}
inline int64_t FirstOf(int64_t couple) { return (couple - SecondOf(couple)) / (int64_t{1} << 25); }

}  // namespace onnx_cudnn
