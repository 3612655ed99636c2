#pragma once

#include <cstdint>

#include "runtime/ops/window.h"

namespace onnx_cudnn {

// Rows [first_row, last_row) of the im2col matrix, for the outputs [begin, end) in row-major order:
// columns[row - first_row, o - begin] is the input that row = (channel, kernel position) of output
// o reads; zero in the padding.
//   x  [channels, window.in_size()]
template <typename T>
void ImageToColumns(const Window& window, const T* x, int64_t first_row, int64_t last_row,
                    int64_t begin, int64_t end, T* columns);

// The transpose: adds columns[row, o], for all outputs o, to the elements of the input x[channels,
// window.in_size()] that they were read from, for the channels [first, last). Contributions to the
// padding are dropped.
template <typename T>
void ColumnsToImage(const Window& window, const T* columns, int64_t first_channel,
                    int64_t last_channel, T* x);

}  // namespace onnx_cudnn
