// A model of a few numbers that Sessions run in tests, and how its results look.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_cudnn/session.h"
#include "tests/support/expect_error.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {

// y[n,i] = relu(x[n,i] − [1,2,3,4][i])
inline constexpr std::string_view kShiftedRelu = R"(
    g (float[N,4] x) => (float[N,4] y) <float[4] shift = {1, 2, 3, 4}> {
      d = Sub(x, shift)
      y = Relu(d)
    })";

inline Session LoadText(std::string_view text, const SessionOptions& options = {}) {
  return Session::LoadBytes(ModelBytesFromText(text).value(), options).value();
}

// An input whose rows all are [base, base + 1, base + 2, base + 3], and what kShiftedRelu makes of
// it.
inline std::vector<float> Rows(int64_t n, float base) {
  std::vector<float> rows;
  for (int64_t i = 0; i < 4 * n; ++i) rows.push_back(base + static_cast<float>(i % 4));
  return rows;
}
inline std::vector<float> ShiftedRows(int64_t n, float base) {
  return std::vector<float>(4 * n, std::max(0.0f, base - 1));
}

inline std::vector<float> Values(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.elements()};
}

using Strings = std::vector<std::string>;

inline Strings StringsIn(const Tensor& tensor) {
  return {tensor.data<std::string>(), tensor.data<std::string>() + tensor.elements()};
}

}  // namespace onnx_cudnn
