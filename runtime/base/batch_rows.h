#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace onnx_cudnn {

// The numbers of rows that batches have, ascending: `given`, ascending and none above `most`, or,
// if it is empty, the powers of two below; and `most`.
inline std::vector<int64_t> BatchRows(std::vector<int64_t> given, int64_t most) {
  if (given.empty()) {
    for (int64_t rows = 1; rows < most; rows *= 2) given.push_back(rows);
  }
  if (given.empty() || given.back() < most) given.push_back(most);
  return given;
}

}  // namespace onnx_cudnn
