#include "runtime/ops/im2col.h"

#include <algorithm>
#include <vector>

namespace onnx_cudnn {
namespace {

// Outputs [begin, end) of one output row, and the input row at the first kernel position.
struct OutputRun {
  int64_t d, h, begin, end;
};

std::vector<OutputRun> RunsOf(const Window& window, int64_t begin, int64_t end) {
  std::vector<OutputRun> runs;
  const int64_t out_w = window.w().out, out_h = window.h().out;
  while (begin < end) {
    const int64_t row = begin / out_w, w = begin % out_w;
    const int64_t w_end = std::min(out_w, w + end - begin);
    runs.push_back({window.d().At(row / out_h, 0), window.h().At(row % out_h, 0), w, w_end});
    begin += w_end - w;
  }
  return runs;
}

// A row of the matrix: a channel and a kernel position. Rows are mostly visited in order, so the
// next one is computed incrementally.
struct KernelPosition {
  int64_t channel, d, h, w;

  KernelPosition(const Window& window, int64_t row) {
    const int64_t kw = window.w().kernel, kh = window.h().kernel, kd = window.d().kernel;
    w = row % kw;
    h = row / kw % kh;
    d = row / (kw * kh) % kd;
    channel = row / (kw * kh * kd);
  }
  void Step(const Window& window) {
    if (++w < window.w().kernel) return;
    w = 0;
    if (++h < window.h().kernel) return;
    h = 0;
    if (++d < window.d().kernel) return;
    d = 0;
    ++channel;
  }
};

// The input row for `run` at `k`; nullptr if it is in the padding.
template <typename T>
T* InputRow(const Window& window, T* x, const KernelPosition& k, const OutputRun& run) {
  const int64_t d = run.d + k.d * window.d().dilation, h = run.h + k.h * window.h().dilation;
  if (!window.d().Inside(d) || !window.h().Inside(h)) return nullptr;
  return x + ((k.channel * window.d().in + d) * window.h().in + h) * window.w().in;
}

template <typename T>
void CopyStrided(const T* from, int64_t stride, int64_t count, T* to) {
  if (stride == 1) {
    std::copy_n(from, count, to);
  } else if (stride == 2) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
}

}  // namespace

template <typename T>
void ImageToColumns(const Window& window, const T* x, int64_t first_row, int64_t last_row,
                    int64_t begin, int64_t end, T* columns) {
  const std::vector<OutputRun> runs = RunsOf(window, begin, end);
  const WindowAxis& w = window.w();
  KernelPosition k(window, first_row);
  T* to = columns;
  for (int64_t row = first_row; row < last_row; ++row, k.Step(window)) {
    const int64_t first_inside = w.First(k.w), last_inside = w.Last(k.w);
    std::fill_n(to, end - begin, T{0});
    for (const OutputRun& run : runs) {
      const int64_t first = std::max(run.begin, first_inside),
                    last = std::min(run.end, last_inside);
      const T* in = InputRow(window, x, k, run);
      if (in != nullptr && first < last) {
        CopyStrided(in + w.At(first, k.w), w.stride, last - first, to + (first - run.begin));
      }
      to += run.end - run.begin;
    }
  }
}

template <typename T>
void ColumnsToImage(const Window& window, const T* columns, int64_t first_channel,
                    int64_t last_channel, T* x) {
  const WindowAxis& w = window.w();
  const int64_t outs = window.out_size(), positions = window.kernel_size();
  const std::vector<OutputRun> runs = RunsOf(window, 0, outs);
  KernelPosition k(window, first_channel * positions);
  const T* from = columns + first_channel * positions * outs;
  for (int64_t row = first_channel * positions; row < last_channel * positions; ++row) {
    const int64_t first = w.First(k.w), last = w.Last(k.w);
    for (const OutputRun& run : runs) {
      if (T* to = InputRow(window, x, k, run)) {
        for (int64_t o = first; o < last; ++o) to[w.At(o, k.w)] += from[o];
      }
      from += w.out;
    }
    k.Step(window);
  }
}

template void ImageToColumns(const Window&, const float*, int64_t, int64_t, int64_t, int64_t,
                             float*);
template void ImageToColumns(const Window&, const double*, int64_t, int64_t, int64_t, int64_t,
                             double*);
template void ColumnsToImage(const Window&, const float*, int64_t, int64_t, float*);
template void ColumnsToImage(const Window&, const double*, int64_t, int64_t, double*);

}  // namespace onnx_cudnn
