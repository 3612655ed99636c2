// Resize in every mode. A first launch computes, in f64 as runtime/ops/resize_axis.cc does, the
// inputs and weights for each index of each dim, because scales may be known only on the device.
// The second one computes y: a sum over the products of all dims' taps, in f32 (f64 for f64), or a
// copy. For images a thread processes a vector of columns, or some lanes of a column, in several
// rows (resize_columns.cuh, resize_rows.cuh); otherwise 16 bytes of an innermost dim that is not
// resized, or one element.
#include "runtime/kernels/cuda/move/resize.h"

#include <algorithm>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/move/resize.cuh"
#include "runtime/kernels/cuda/move/resize_rows.cuh"

namespace onnx_cudnn {
namespace {

struct TableParameters {
  const float* scales;
  const int64_t* sizes;
  const void* roi;
  unsigned char* tables;
  bool has_scales, has_roi;
  DType roi_dtype;
  int axes;
  int axis_extents[kMostResizeAxes];  // of x, by index among the axes
  int64_t table_at[kMostResizeAxes];
  ResizeDim dims[kMostResizeAxes];
  ResizeOptions options;
};

struct Axis {
  double in, out, scale, roi_begin, roi_end;
  double length;  // scale * in; exactly `out` if the scale was computed from sizes
};

__device__ double ScaleOf(const TableParameters& p, int i) {
  if (p.has_scales) return static_cast<double>(p.scales[i]);
  return static_cast<double>(p.sizes[i]) / static_cast<double>(p.axis_extents[i]);
}

__device__ Axis AxisOf(const TableParameters& p, const ResizeDim& dim) {
  const double in = static_cast<double>(dim.in), out = static_cast<double>(dim.out);
  Axis axis = {.in = in, .out = out, .scale = 1, .roi_begin = 0, .roi_end = 1, .length = in};
  if (dim.scale < 0) return axis;
  axis.scale = ScaleOf(p, dim.scale);
  const bool is_stretched = p.options.policy == ResizePolicy::kStretch;
  if (!p.has_scales && !is_stretched) {
    for (int i = 0; i < p.axes; ++i) {  // keep_aspect_ratio: one scale for all axes
      const double other = ScaleOf(p, i);
      const bool smaller = p.options.policy == ResizePolicy::kNotLarger;
      if (smaller ? other < axis.scale : other > axis.scale) axis.scale = other;
    }
  }
  axis.length = !p.has_scales && is_stretched ? out : __dmul_rn(axis.scale, in);
  if (p.has_roi) {
    axis.roi_begin = LoadNumber<double>(p.roi_dtype, p.roi, dim.scale);
    axis.roi_end = LoadNumber<double>(p.roi_dtype, p.roi, p.axes + dim.scale);
  }
  return axis;
}

// The position in the input for output `o`. Products are rounded before they are added, and sums
// are computed in the order of the reference.
__device__ double SourceOf(const Axis& axis, ResizeCoordinates coordinates, double o) {
  const double last = axis.in - 1, pixel = __dmul_rn(o + 0.5, axis.in) / axis.length;
  switch (coordinates) {
    case ResizeCoordinates::kAlignCorners:
      return axis.length == 1 ? 0 : __dmul_rn(o, last) / __dsub_rn(axis.length, 1);
    case ResizeCoordinates::kAsymmetric:
      return __dmul_rn(o, axis.in) / axis.length;
    case ResizeCoordinates::kPytorchHalfPixel:
      return axis.out > 1 ? __dsub_rn(pixel, 0.5) : 0;
    case ResizeCoordinates::kHalfPixelForNearest:
      return axis.length == axis.in ? o : pixel;
    case ResizeCoordinates::kCrop: {
      const double extent = __dmul_rn(axis.roi_end - axis.roi_begin, last);
      const double inside = axis.out > 1 ? __dmul_rn(o, extent) / (axis.out - 1) : extent / 2;
      return __dadd_rn(__dmul_rn(axis.roi_begin, last), inside);
    }
    case ResizeCoordinates::kHalfPixelSymmetric: {
      const double offset = __dmul_rn(axis.in / 2, __dsub_rn(1, axis.out / axis.length));
      return __dsub_rn(__dadd_rn(offset, pixel), 0.5);
    }
    default:
      return __dsub_rn(pixel, 0.5);
  }
}

__device__ int NearestOf(ResizeRounding rounding, double x) {
  const double down = floor(x), fraction = x - down;
  bool up = fraction > 0.5;
  if (rounding == ResizeRounding::kPreferCeil) up = fraction >= 0.5;
  if (rounding == ResizeRounding::kFloor) up = false;
  if (rounding == ResizeRounding::kCeil) up = fraction > 0;
  return static_cast<int>(down) + (up ? 1 : 0);
}

__device__ double WeightOf(const ResizeOptions& options, double distance) {
  const double x = fabs(distance), a = options.cubic_a;
  if (options.kind == ResizeKind::kLinear) return fmax(0.0, __dsub_rn(1, x));
  if (x <= 1)
    return __dadd_rn(__dmul_rn(__dmul_rn(__dsub_rn(__dmul_rn(a + 2, x), a + 3), x), x), 1);
  if (x >= 2) return 0;
  const double inner = __dadd_rn(__dmul_rn(__dsub_rn(__dmul_rn(a, x), 5 * a), x), 8 * a);
  return __dsub_rn(__dmul_rn(inner, x), 4 * a);
}

// The taps around `x` with nonzero weight. Returns their number.
template <typename W>
__device__ int TapsAround(const ResizeOptions& options, const ResizeDim& dim, double scale,
                          double x, int* indices, W* weights) {
  const double shrink = options.antialias ? fmin(scale, 1.0) : 1.0;
  const int radius = options.kind == ResizeKind::kCubic ? 2 : 1;
  const int half = static_cast<int>(fmin(ceil(radius / shrink), 2.0 * dim.in + radius));
  const int first = static_cast<int>(floor(x)) - (half - 1);
  const auto weight = [&](int at) {
    const bool dropped = options.exclude_outside && (at < 0 || at >= dim.in);
    return dropped ? 0.0 : WeightOf(options, __dmul_rn(static_cast<double>(at) - x, shrink));
  };
  double sum = 0;
  for (int t = 0; t < 2 * half; ++t) sum = __dadd_rn(sum, weight(first + t));
  int count = 0;
  for (int t = 0; t < 2 * half && count < dim.most_taps; ++t) {
    const W share = static_cast<W>(sum == 0 ? 0 : weight(first + t) / sum);
    if (share == 0) continue;
    indices[count] = min(max(first + t, 0), dim.in - 1);
    weights[count++] = share;
  }
  return count;
}

// Each block computes the table of dim blockIdx.x.
template <typename W>
__global__ void __launch_bounds__(kBlock) MakeTables(TableParameters p) {
  WaitForLaunchBefore();
  const ResizeDim dim = p.dims[blockIdx.x];
  const TapTable table = TableAt<W>(p.tables + p.table_at[blockIdx.x], dim);
  const Axis axis = AxisOf(p, dim);
  bool is_identity = dim.in == dim.out;
  for (int o = static_cast<int>(threadIdx.x); o < dim.out; o += kBlock) {
    int* indices = table.indices + static_cast<int64_t>(o) * dim.most_taps;
    W* weights = table.weights + static_cast<int64_t>(o) * dim.most_taps;
    indices[0] = o;
    weights[0] = 1;
    table.counts[o] = 1;
    if (dim.scale < 0) continue;
    const double source = SourceOf(axis, p.options.coordinates, o);
    const double x = source > -axis.in ? fmin(source, 2 * axis.in) : -axis.in;
    int count = 1;
    if (p.options.kind == ResizeKind::kNearest) {
      indices[0] = min(max(NearestOf(p.options.rounding, x), 0), dim.in - 1);
    } else {
      count = TapsAround(p.options, dim, axis.scale, x, indices, weights);
    }
    const bool is_crop = p.options.coordinates == ResizeCoordinates::kCrop;
    if (is_crop && !(source >= 0 && source <= axis.in - 1)) count = kOutside;
    table.counts[o] = count;
    is_identity &= count == 1 && indices[0] == o && weights[0] == 1;
  }
  is_identity = __syncthreads_and(is_identity) != 0;
  if (threadIdx.x == 0) *table.is_identity = is_identity ? 1 : 0;
}

template <typename Word>
__global__ void __launch_bounds__(kBlock) ResizeNearest(ResizeParameters p) {
  WaitForLaunchBefore();
  constexpr int kWidth = kVectorBytes / sizeof(Word);
  const int64_t vector = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (vector >= p.count) return;
  const int width = p.may_be_wide ? kWidth : 1;
  const bool is_wide = IsWide<float>(p);
#pragma unroll 1
  for (int k = 0; k < (is_wide ? 1 : width); ++k) {
    CopyNearest<Word>(p, static_cast<uint64_t>(vector * width + k), is_wide);
  }
}

template <typename T, int kRank>
__global__ void __launch_bounds__(kBlock) ResizeInterpolate(ResizeParameters p) {
  WaitForLaunchBefore();
  constexpr int kWidth = kVectorBytes / sizeof(T);
  const int64_t vector = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (vector >= p.count) return;
  if (IsWide<ComputeOf<T>>(p)) return Interpolate<T, kRank, kWidth>(p, vector * kWidth);
  const int width = p.may_be_wide ? kWidth : 1;
#pragma unroll 1
  for (int k = 0; k < width; ++k) {
    Interpolate<T, kRank, 1>(p, static_cast<uint64_t>(vector * width + k));
  }
}

// Whether vectors of `width` elements of the innermost dim are aligned on both sides.
bool MayBeWide(const std::vector<ResizeDim>& dims, int width) {
  const ResizeDim& last = dims.back();
  if (last.in != last.out || last.in_stride != 1 || last.out_stride != 1) return false;
  if (last.out % width != 0) return false;
  return std::all_of(dims.begin(), dims.end() - 1, [&](const ResizeDim& dim) {
    return dim.in_stride % width == 0 && dim.out_stride % width == 0;
  });
}

template <typename E>
Resizes KernelFor(ResizeKind kind, int rank) {
  if (kind == ResizeKind::kNearest) return ResizeNearest<WordOf<sizeof(E)>>;
  if constexpr (kIsFloat<E>) {
    return rank == kFewDims ? ResizeInterpolate<E, kFewDims>
                            : ResizeInterpolate<E, kMostResizeAxes>;
  } else {
    return nullptr;  // the rules accept only nearest
  }
}

template <typename E>
KernelCall ResizeCallOf(ResizeParameters p, const std::vector<ResizeDim>& dims,
                        const ResizeOptions& options) {
  constexpr int kWidth = kVectorBytes / sizeof(E);
  p.may_be_wide = MayBeWide(dims, kWidth);
  Resizes kernel = KernelFor<E>(options.kind, p.rank);
  if (TakesRows(dims, options, p.may_be_wide)) {
    kernel = PlanResizeRows<E>(p, options.kind);
  } else if (p.may_be_wide) {
    p.count /= kWidth;
  }
  const unsigned blocks = static_cast<unsigned>((p.count + kBlock - 1) / kBlock);
  return KernelCall::Of(kernel, {.grid = {blocks}, .block = {kBlock}}, p);
}

}  // namespace

ResizeCalls MakeResize(DType dtype, std::vector<ResizeDim> dims, const ResizeOptions& options,
                       const ResizeScales& scales, Slot x, Slot y) {
  ResizeCalls made;
  // Interpolation is unrolled for this many dims; those of one element come first.
  const size_t rank = dims.size() <= kFewDims ? kFewDims : kMostResizeAxes;
  dims.insert(dims.begin(), rank - dims.size(), ResizeDim());
  const bool has_wide_weights = dtype == DType::kF64 && options.kind != ResizeKind::kNearest;
  TableParameters tables{.has_scales = scales.has_scales,
                         .has_roi = scales.has_roi,
                         .roi_dtype = scales.roi_dtype,
                         .axes = scales.axes,
                         .options = options};
  ResizeParameters p{.count = 1, .rank = static_cast<int>(dims.size()), .outside = options.outside};
  p.outside_bits = options.outside_bits;
  p.multiprocessors = options.multiprocessors;
  for (size_t d = 0; d < dims.size(); ++d) {
    tables.dims[d] = p.dims[d] = dims[d];
    tables.table_at[d] = p.table_at[d] = made.workspace_bytes;
    if (dims[d].scale >= 0) tables.axis_extents[dims[d].scale] = dims[d].in;
    p.outs[d] = FastDivide<uint64_t>(dims[d].out);
    p.count *= dims[d].out;
    made.workspace_bytes +=
        has_wide_weights ? TableBytes<double>(dims[d]) : TableBytes<float>(dims[d]);
  }
  const unsigned blocks = static_cast<unsigned>(dims.size());
  KernelCall table_call = KernelCall::Of(has_wide_weights ? MakeTables<double> : MakeTables<float>,
                                         {.grid = {blocks}, .block = {kBlock}}, tables);
  if (scales.has_scales) table_call.Bind(offsetof(TableParameters, scales), scales.scales);
  if (!scales.has_scales) table_call.Bind(offsetof(TableParameters, sizes), scales.sizes);
  if (scales.has_roi) table_call.Bind(offsetof(TableParameters, roi), scales.roi);
  table_call.Bind(offsetof(TableParameters, tables), Slot::Workspace());
  made.calls.push_back(std::move(table_call));
  KernelCall call = VisitFixedSize<KernelCall>(
      dtype, [&](auto e) { return ResizeCallOf<decltype(e)>(p, dims, options); });
  call.Bind(offsetof(ResizeParameters, x), x);
  call.Bind(offsetof(ResizeParameters, y), y);
  call.Bind(offsetof(ResizeParameters, tables), Slot::Workspace());
  made.calls.push_back(std::move(call));
  return made;
}

}  // namespace onnx_cudnn
