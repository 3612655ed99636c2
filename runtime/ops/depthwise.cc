#include "runtime/ops/depthwise.h"

#include <algorithm>

#include "runtime/ops/cpu_clones.h"
#include "runtime/ops/dispatch.h"

namespace onnx_cudnn {
namespace {

// y[i] += a * x[i * stride]
ONNX_CUDNN_CPU_CLONES
void AddScaledRow(float* y, const float* x, int64_t stride, float a, int64_t n) {
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
  } else if (stride == 2) {
    for (int64_t i = 0; i < n; ++i) y[i] += a * x[2 * i];
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] += a * x[i * stride];
  }
}

void AddScaledRow(double* y, const double* x, int64_t stride, double a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i * stride];
}

// Adds the contribution of one input row to one output row, over the kernel's width.
template <typename T>
void AddKernelRow(const WindowAxis& w, const T* x, const T* kernel, T* y) {
  for (int64_t k = 0; k < w.kernel; ++k) {
    const int64_t first = w.First(k), last = w.Last(k);
    if (first < last)
      AddScaledRow(y + first, x + w.At(first, k), w.stride, kernel[k], last - first);
  }
}

template <typename T>
void Plane(const Window& window, const T* x, const T* kernel, T bias, T* y) {
  const WindowAxis& w = window.w();
  for (int64_t row = 0; row < window.out_rows(); ++row, y += w.out) {
    std::fill_n(y, w.out, bias);
    window.ForEachRow(row, [&](int64_t kernel_row, int64_t in_row) {
      AddKernelRow(w, x + in_row * w.in, kernel + kernel_row * w.kernel, y);
    });
  }
}

}  // namespace

template <typename T>
void DepthwiseConvolution(ThreadPool& threads, const ConvShape& shape, const T* x, const T* w,
                          const T* bias, T* y) {
  const int64_t filters = shape.groups * shape.filters, kernel_size = shape.window.kernel_size();
  threads.ParallelFor(shape.images * filters, GrainFor(shape.out_size() * kernel_size),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) {
                          const int64_t filter = i % filters;
                          Plane(shape.window, x + i / shape.filters * shape.in_size(),
                                w + filter * kernel_size, bias == nullptr ? T{0} : bias[filter],
                                y + i * shape.out_size());
                        }
                      });
}

template void DepthwiseConvolution(ThreadPool&, const ConvShape&, const float*, const float*,
                                   const float*, float*);
template void DepthwiseConvolution(ThreadPool&, const ConvShape&, const double*, const double*,
                                   const double*, double*);

}  // namespace onnx_cudnn
