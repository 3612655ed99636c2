#pragma once

#include <cstdint>

#include "runtime/ops/window.h"

namespace onnx_cudnn {

// Rows [first_row, last_row) of the matrix that turns a convolution into a product, for the outputs
// [begin, end) in row-major order: columns[row - first_row, o - begin] is the input that output o
// meets at row = (channel, kernel position), zero where that lies in the padding.
//   x  [channels, window.in_size()]
template <typename T>
void ImageToColumns(const Window& window, const T* x, int64_t first_row, int64_t last_row,
                    int64_t begin, int64_t end, T* columns);

// The transpose: adds columns[row, o] over all outputs o to the input x[channels, window.in_size()]
// that it came from, for the channels [first, last). Contributions to the padding are dropped.
template <typename T>
void ColumnsToImage(const Window& window, const T* columns, int64_t first_channel,
                    int64_t last_channel, T* x);

}  // namespace onnx_cudnn
