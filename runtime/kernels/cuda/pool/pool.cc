#include "runtime/kernels/cuda/pool/pool.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/conv/image_layout.h"
#include "runtime/ops/window.h"
#include "runtime/plan/interleaved.h"

namespace onnx_cudnn {
namespace {

constexpr int kNoLimit = 1 << 30;         // on channels, if no lane is padding
constexpr int kVectorBytes = 16;          // per access of a thread
constexpr int kMostStrip = 32;            // vectors per block: 512 contiguous bytes,
constexpr int kLeastStrip = 8;            // or fewer if that occupies the device
constexpr int kSmallPlanesBytes = 32768;  // of shared memory: seven blocks fit a multiprocessor
constexpr int kFewestPlanes = 8;          // per block: that many planes start at 16 bytes
constexpr int64_t kLeastShare = 512;      // pixels that justify a block of their own
constexpr int64_t kMostGridY = 65535;

PoolKind KindOf(const Node& node) {
  if (node.op().find("Max") != std::string::npos) return PoolKind::kMax;
  return node.op().find("Average") != std::string::npos ? PoolKind::kAverage : PoolKind::kNorm;
}

unsigned BlocksOf(int64_t items, int64_t each) {
  return static_cast<unsigned>((items + each - 1) / each);
}

// Channels that a thread processes at once.
int LanesOf(const ImageLayout& x, int element_bytes) {
  const int full = kVectorBytes / element_bytes;
  return x.channels_last && x.lanes % full == 0 ? full : 1;
}

PoolAxis AxisOf(const WindowAxis& axis, bool include_pad) {
  return {.in = static_cast<int>(axis.in),
          .out = static_cast<int>(axis.out),
          .kernel = static_cast<int>(axis.kernel),
          .stride = static_cast<int>(axis.stride),
          .dilation = static_cast<int>(axis.dilation),
          .pad = static_cast<int>(axis.pad_begin),
          .count_begin = static_cast<int>(include_pad ? -axis.pad_begin : 0),
          .count_end = static_cast<int>(axis.in + (include_pad ? axis.pad_end : 0))};
}

// A pooling with a window.
struct WindowPool {
  PoolKind kind;
  Window window;
  ImageLayout x, y;
  DType dtype;
  bool include_pad = false;
  bool with_indices = false;

  bool has_strip() const {
    const WindowAxis &h = window.h(), &w = window.w(), &d = window.d();
    return HasPoolStrip(h.kernel, h.stride) && h.kernel == w.kernel && h.stride == w.stride &&
           h.dilation == 1 && w.dilation == 1 && d.trivial() && d.in == 1;
  }
};

// Work items of `rows` rows of `columns` outputs of `lanes` channels.
PoolParameters ParametersOf(const WindowPool& pool, int lanes, int rows, int columns) {
  const ImageLayout &x = pool.x, &y = pool.y;
  const int64_t planes = x.channels_last ? 1 : x.channels;  // outer planes per image
  PoolParameters p{};
  p.d = AxisOf(pool.window.d(), pool.include_pad);
  p.h = AxisOf(pool.window.h(), pool.include_pad);
  p.w = AxisOf(pool.window.w(), pool.include_pad);
  p.x_outer = x.image_stride() / planes;
  p.x_d = x.depth_stride(), p.x_h = x.row_stride(), p.x_w = x.column_stride();
  p.y_outer = y.image_stride() / planes;
  p.y_d = y.depth_stride(), p.y_h = y.row_stride(), p.y_w = y.column_stride();
  p.vectors = FastDivide<uint32_t>(x.channels_last ? x.lanes / lanes : 1);
  p.columns = FastDivide<uint32_t>(BlocksOf(p.w.out, columns));
  p.rows = FastDivide<uint32_t>(BlocksOf(p.h.out, rows));
  p.depths = FastDivide<uint32_t>(p.d.out);
  p.channels = x.channels_last ? static_cast<int>(x.channels) : kNoLimit;
  p.planes_per_outer = x.channels_last ? static_cast<int>(x.channels) : 1;
  return p;
}

// Work items per outer index.
int64_t ItemsOf(const PoolParameters& p) {
  return static_cast<int64_t>(p.vectors.divisor) * p.columns.divisor * p.rows.divisor *
         p.depths.divisor;
}

// Whether 16 bytes of a row are one access from any multiple of 16 bytes on, and so are the outputs
// of windows that start there or one column earlier.
bool ReadsPixels(const WindowPool& pool, int element_bytes) {
  const WindowAxis& w = pool.window.w();
  const int read = kVectorBytes / element_bytes;
  return !pool.x.channels_last && w.in % read == 0 && w.out * w.stride % read == 0 &&
         w.pad_begin < w.kernel - 1;
}

// A launch of a pooling, except for its range of images.
struct PoolLaunch {
  PoolParameters parameters;
  bool is_strip;
  PoolStrip strip;

  KernelCall CallOf(const WindowPool& pool) const {
    const PoolParameters& p = parameters;
    const int threads = is_strip ? kPoolStripThreads : kPoolThreads;
    const LaunchShape shape{.grid = {BlocksOf(p.items, threads)},
                            .block = {static_cast<unsigned>(threads)}};
    if (is_strip) return PoolStripCall(pool.kind, pool.dtype, strip, shape, p);
    if (pool.with_indices) return PoolIndicesCall(pool.dtype, shape, p);
    return PoolWindowCall(pool.kind, pool.dtype, strip.lanes, shape, p);
  }
};

PoolLaunch LaunchOf(const WindowPool& pool, int element_bytes) {
  // These have code for one channel per thread only.
  const bool is_single =
      pool.with_indices || pool.kind == PoolKind::kNorm || element_bytes == sizeof(double);
  const int lanes = is_single ? 1 : LanesOf(pool.x, element_bytes);
  const bool is_strip = pool.has_strip() && !is_single && element_bytes > 1;
  if (!is_strip) return {ParametersOf(pool, lanes, 1, 1), is_strip, {.lanes = lanes}};
  const PoolStrip strip{.lanes = lanes, .pixels = ReadsPixels(pool, element_bytes)};
  const int stride = static_cast<int>(pool.window.h().stride);
  const int columns =
      strip.pixels ? kVectorBytes / element_bytes / stride : PoolStripColumns(stride);
  return {ParametersOf(pool, lanes, PoolStripRows(strip.pixels, stride), columns), is_strip, strip};
}

absl::StatusOr<WindowPool> ReadWindowPool(const Node& node, const KernelOperand& x,
                                          const KernelOperand& y) {
  WindowPool pool{.kind = KindOf(node), .dtype = x.dtype()};
  ASSIGN_OR_RETURN(pool.window,
                   MakeWindow(node, x.dims(), node.attrs().Ints("kernel_shape"), y.dims()));
  RETURN_IF_ERROR(CheckWindowFits(pool.window));
  ASSIGN_OR_RETURN(pool.x, ImageLayoutOf(x));
  KernelOperand dense = y;
  dense.format = y.format.WithoutForeignLanes();
  ASSIGN_OR_RETURN(pool.y, ImageLayoutOf(dense));
  // Planes of one pixel are vectors of channels in either layout.
  if (pool.x.channels_last != pool.y.channels_last) {
    const bool last =
        x.format != Format::RowMajor(x.dims()) || y.format != Format::RowMajor(y.dims());
    pool.x.channels_last = pool.y.channels_last = last;
  }
  if (pool.x.lanes != pool.y.lanes) {
    return absl::UnimplementedError(
        absl::StrCat("channels padded to ", pool.x.lanes, " and ", pool.y.lanes));
  }
  if (y.format.has_foreign_lanes()) pool.y.lanes = PixelPitch(y.format, y.dims()).value();
  pool.include_pad = node.attrs().Int("count_include_pad", 0) != 0;
  pool.with_indices = node.has_output(1);
  return pool;
}

absl::StatusOr<KernelCode> CompileWindowPool(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand x = operands.Of(node.input(0));
  const KernelOperand y = operands.Of(node.output(node.has_output(0) ? 0 : 1));
  ASSIGN_OR_RETURN(const WindowPool pool, ReadWindowPool(node, x, y));
  KernelCode code{.constants = operands.TakeConstants()};
  if (y.value->elements() == 0) return code;
  PoolLaunch launch = LaunchOf(pool, x.element_bytes());
  PoolParameters& p = launch.parameters;
  p.columns_first = node.attrs().Int("storage_order", 0) != 0;
  p.p = static_cast<float>(node.attrs().Int("p", 2));
  const int64_t outer = pool.x.images * (pool.x.channels_last ? 1 : pool.x.channels);
  RETURN_IF_ERROR(ForEachLaunch(outer, ItemsOf(p), [&](int64_t first, int64_t count) {
    p.first_outer = first;
    p.items = static_cast<uint32_t>(count * ItemsOf(p));
    KernelCall call = launch.CallOf(pool);
    call.Bind(offsetof(PoolParameters, x), x.slot);
    if (node.has_output(0)) {
      call.Bind(offsetof(PoolParameters, y), operands.Of(node.output(0)).slot);
    }
    if (pool.with_indices) {
      call.Bind(offsetof(PoolParameters, indices), operands.Of(node.output(1)).slot);
    }
    code.calls.push_back(std::move(call));
  }));
  return code;
}

// How many blocks share the pixels that each of `blocks` blocks would have, to occupy the device.
int SplitsFor(int64_t blocks, int64_t pixels, const Target& target) {
  const int64_t wanted = 2 * std::max(target.info.multiprocessors, 1);
  if (blocks == 0 || blocks >= wanted) return 1;
  const int64_t most = std::max<int64_t>(1, pixels / kLeastShare);
  return static_cast<int>(std::min({(wanted + blocks - 1) / blocks, most, kMostGridY}));
}

// Planes per block that fit shared memory; 0: too few do.
int SmallPlanes(int64_t plane_bytes) {
  int planes = kSmallPlanesThreads;
  while (planes * plane_bytes > kSmallPlanesBytes && planes > 0) planes /= 2;
  return planes >= kFewestPlanes ? planes : 0;
}

void Split(GlobalPoolParameters& p, int64_t blocks, int multiple, const Target& target) {
  p.splits = SplitsFor(blocks, p.pixels, target);
  const int64_t share = (p.pixels + p.splits - 1) / p.splits;
  p.share = std::max<int64_t>((share + multiple - 1) / multiple * multiple, 1);
  p.splits = static_cast<int>(std::max<int64_t>((p.pixels + p.share - 1) / p.share, 1));
}

int PowerOfTwoFrom(int64_t least, int most) {
  int power = 1;
  while (power < least && power < most) power *= 2;
  return power;
}

KernelCall GlobalCall(PoolKind kind, const KernelOperand& x, const ImageLayout& layout,
                      const Target& target, GlobalPoolParameters& p) {
  const int bytes = x.element_bytes(), full = kVectorBytes / bytes;
  if (layout.channels_last) {
    const int lanes = LanesOf(layout, bytes);
    const int64_t vectors = p.lanes / lanes;
    p.strip = PowerOfTwoFrom(vectors, kMostStrip);
    while (p.strip > kLeastStrip &&
           BlocksOf(vectors, p.strip) * p.outer < target.info.multiprocessors) {
      p.strip /= 2;
    }
    const unsigned strips = BlocksOf(vectors, p.strip);
    Split(p, strips * p.outer, 1, target);
    return GlobalPoolChannelsCall(
        kind, x.dtype(), lanes,
        {.grid = {strips, static_cast<unsigned>(p.outer), static_cast<unsigned>(p.splits)},
         .block = {kGlobalPoolThreads}},
        p);
  }
  p.planes = SmallPlanes(p.pixels * bytes);
  if (p.planes > 0) {
    p.splits = 1;
    return GlobalPoolSmallCall(kind, x.dtype(),
                               {.grid = {BlocksOf(p.outer, p.planes)},
                                .block = {kSmallPlanesThreads},
                                .shared_bytes = static_cast<int>(p.planes * p.pixels * bytes)},
                               p);
  }
  const int lanes = p.pixels % full == 0 ? full : 1;
  Split(p, p.outer, lanes, target);
  return GlobalPoolPlaneCall(
      kind, x.dtype(), lanes,
      {.grid = {static_cast<unsigned>(p.outer), static_cast<unsigned>(p.splits)},
       .block = {kGlobalPoolThreads}},
      p);
}

absl::StatusOr<KernelCode> CompileGlobalPool(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand x = operands.Of(node.input(0)), y = operands.Of(node.output(0));
  ASSIGN_OR_RETURN(ImageLayout layout, ImageLayoutOf(x));
  // A result of one pixel is the same in both layouts, except for padding.
  const int64_t lanes = y.format.lanes() / std::max<int64_t>(1, layout.images);
  KernelCode code{.constants = operands.TakeConstants()};
  if (y.value->elements() == 0) return code;
  if (lanes != layout.lanes) {
    return absl::UnimplementedError(
        absl::StrCat("channels padded to ", layout.lanes, " and ", lanes));
  }
  if (layout.channels_last && layout.images > kMostGridY) {
    return absl::UnimplementedError(absl::StrCat(layout.images, " images"));
  }
  GlobalPoolParameters p{};
  p.outer = layout.channels_last ? layout.images : layout.images * layout.channels;
  p.pixels = layout.pixels();
  p.lanes = layout.channels_last ? layout.lanes : 1;
  p.channels = layout.channels_last ? layout.channels : 1;
  p.p = static_cast<float>(node.attrs().Int("p", 2));
  const PoolKind kind = KindOf(node);
  KernelCall call = GlobalCall(kind, x, layout, request.target, p);
  call.Bind(offsetof(GlobalPoolParameters, x), x.slot)
      .Bind(offsetof(GlobalPoolParameters, y), y.slot);
  if (p.splits == 1) {
    code.calls.push_back(std::move(call));
    return code;
  }
  const int64_t sum_bytes = x.dtype() == DType::kF64 ? 8 : 4, results = p.outer * p.lanes;
  code.workspace_bytes = p.splits * results * sum_bytes;
  call.Bind(offsetof(GlobalPoolParameters, partial), Slot::Workspace());
  code.calls.push_back(std::move(call));
  KernelCall finish = GlobalPoolFinishCall(
      kind, x.dtype(),
      {.grid = {BlocksOf(results, kGlobalPoolThreads)}, .block = {kGlobalPoolThreads}}, p);
  finish.Bind(offsetof(GlobalPoolParameters, y), y.slot)
      .Bind(offsetof(GlobalPoolParameters, partial), Slot::Workspace());
  code.calls.push_back(std::move(finish));
  return code;
}

}  // namespace

// Average, max, Lp and global pooling, see ../pool.cc.
absl::StatusOr<KernelCode> CompilePool(const KernelRequest& request) {
  return request.unit.node().op().starts_with("Global") ? CompileGlobalPool(request)
                                                        : CompileWindowPool(request);
}

}  // namespace onnx_cudnn
