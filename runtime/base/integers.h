#pragma once

namespace onnx_cudnn {

// ⌈a / b⌉ of integers a ≥ 0 and b > 0, in the wider of the two types.
template <typename A, typename B>
constexpr auto CeilDiv(A a, B b) {
  return (a + b - 1) / b;
}

}  // namespace onnx_cudnn
