#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

HostTensor One(double value) { return F32({}, {value}); }

std::vector<OpCase> LinearCases() {
  return {
      {"QuantizeLinear",
       {Row({-3, 0.5, 1.5, 300, kNaN}), One(1), U8({}, {1})},
       {},
       {U8({5}, {0, 1, 3, 255, 0})}},
      {"QuantizeLinear",
       {F32({2, 2}, {1, 2, 3, 4}), Row({1, 2}), I8({2}, {0, 10})},
       {{"axis", int64_t{0}}},
       {I8({2, 2}, {1, 2, 12, 12})}},
      {"QuantizeLinear",
       {F32({1, 4}, {2, 4, 6, 9}), F32({1, 2}, {2, 3})},
       {{"block_size", int64_t{2}}},
       {U8({1, 4}, {1, 2, 2, 3})}},
      // 2051 is 2052 in f16: the division rounds to the type of the scale.
      {"QuantizeLinear",
       {Row({2051}), TensorOf(DType::kF16, {}, {1}), TensorOf(DType::kI16, {}, {0})},
       {},
       {TensorOf(DType::kI16, {1}, {2052})}},
      {"QuantizeLinear",
       {F32({2, 2}, {1, 2, 3, 4}), Row({1, 2, 3})},
       {},
       {},
       "scale is [3], expected [2]"},
      {"DequantizeLinear",
       {U8({3}, {0, 128, 255}), One(0.5), U8({}, {128})},
       {},
       {Row({-64, 0, 63.5})}},
      {"DequantizeLinear",
       {I8({2, 2}, {1, 2, 3, 4}), Row({1, 10})},
       {},
       {F32({2, 2}, {1, 20, 3, 40})}},
      {"DequantizeLinear",
       {I8({3, 1}, {1, 2, 3}), F32({2, 1}, {1, 10})},
       {{"axis", int64_t{0}}, {"block_size", int64_t{2}}},
       {F32({3, 1}, {1, 2, 30})}},
      {"DequantizeLinear",
       {I8({2}, {1, 2}), Row({1, 10}), I8({1}, {0})},
       {{"axis", int64_t{0}}},
       {},
       "zero point is [1], expected [2]"},
      {"DynamicQuantizeLinear",
       {Row({-1, 0, 1.55})},
       {},
       {U8({3}, {0, 100, 255}), One(0.01), U8({}, {100})},
       {},
       1e-6},
  };
}

std::vector<OpCase> ProductCases() {
  const HostTensor zero = I8({}, {0});
  return {
      {"ConvInteger",
       {U8({1, 1, 3}, {2, 3, 4}), U8({1, 1, 2}, {10, 1}), U8({}, {1})},
       {},
       {I32({1, 1, 2}, {12, 23})}},
      {"MatMulInteger",
       {U8({2, 2}, {11, 7, 3, 10}), U8({2, 2}, {1, 4, 2, 5}), U8({}, {12}), U8({2}, {0, 1})},
       {},
       {I32({2, 2}, {-11, -23, -13, -35})}},
      {"MatMulInteger",
       {U8({1, 2}, {1, 2}), U8({2, 1}, {1, 2}), U8({3}, {1, 1, 1})},
       {},
       {},
       "zero point is [3], expected [1]"},
      {"QLinearConv",
       {U8({1, 1, 2}, {2, 3}), One(0.5), U8({}, {1}), I8({2, 1, 1}, {2, -1}), Row({1, 2}), zero,
        One(0.5), U8({}, {128}), I32({2}, {1, -1})},
       {},
       {U8({1, 2, 2}, {131, 133, 124, 122})}},
      {"QLinearMatMul",
       {U8({1, 2}, {3, 4}), One(1), U8({}, {2}), I8({2, 1}, {10, 100}), One(1), zero, One(100),
        zero},
       {},
       {I8({1, 1}, {2})}},
      {"QLinearMatMul",  // saturates
       {U8({1, 2}, {3, 4}), One(1), U8({}, {2}), I8({2, 1}, {10, 100}), One(1), zero, One(1), zero},
       {},
       {I8({1, 1}, {127})}},
  };
}

}  // namespace

std::vector<OpCase> QuantizedCases() { return Joined({LinearCases, ProductCases}); }

}  // namespace onnx_cudnn
