#include "runtime/kernels/cuda/conv/small_batch_conv_plain.h"

#include <algorithm>

#include "runtime/base/integers.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;
constexpr int kMostExtent = 65'535;  // limit of a grid along y and z
constexpr int kSide = 3;             // of the window
constexpr int kMostPhases = 2;
constexpr int kGroup = 64;  // channels per group of copies

uint32_t Unsigned(int64_t x) { return static_cast<uint32_t>(x); }

// log2 of a power of two.
uint32_t Log(int x) {
  uint32_t log = 0;
  while ((1 << log) < x) ++log;
  return log;
}

// From an image to the next.
int64_t ElementsOf(const SmallBatchSource& s) { return int64_t{s.height} * s.width * s.lanes; }

// Whether the windows of a 1 × 1 source are inside the image.
bool LiesInside(const SmallBatchSource& s, const SmallBatchTiling& t) {
  return s.pad_h == 0 && s.pad_w == 0 && (t.rows - 1) * s.stride_h < s.height &&
         (t.columns - 1) * s.stride_w < s.width;
}

bool IsPlainSource(const SmallBatchSource& s, const SmallBatchPlan& plan) {
  if (s.is_stem || s.part_channels * plan.tile.split != s.channels) return false;
  if (ElementsOf(s) * plan.tiling.images >= kMostElements) return false;
  if (s.gathers()) return LiesInside(s, plan.tiling);
  return s.kernel_h == kSide && s.kernel_w == kSide && s.phases <= kMostPhases &&
         s.patch_pixels() <= kSmallBatchConvPlainPatch;
}

SmallBatchConvPlainSource SourceOf(const SmallBatchSource& s) {
  const int stride_h = s.gathers() ? s.stride_h : 1, stride_w = s.gathers() ? s.stride_w : 1;
  return {.x = nullptr,
          .image_elements = Unsigned(ElementsOf(s)),
          .row_elements = Unsigned(int64_t{stride_h} * s.width * s.lanes),
          .column_elements = Unsigned(int64_t{stride_w} * s.lanes),
          .part_channels = Unsigned(s.part_channels),
          .groups = Unsigned(s.part_channels / kGroup),
          .rest = Unsigned(s.part_channels % kGroup / kSmallBatchPiece),
          .pixel_bytes = Unsigned(s.pixel_bytes),
          .steps = Unsigned(s.steps),
          .first_step = Unsigned(s.first_step)};
}

SmallBatchConvPlainWindow WindowOf(const SmallBatchSource& s, const SmallBatchTiling& t) {
  return {
      .across = FastDivide<uint32_t>(t.across),
      .phase_columns = FastDivide<uint32_t>(s.phase_columns),
      .log_phases = Log(s.phases),
      .rows = Unsigned(t.rows),
      .columns = Unsigned(t.columns),
      .tile_rows = Unsigned(t.tile_rows),
      .tile_pixels = Unsigned(t.tile_rows * t.tile_columns),
      .height = Unsigned(s.height),
      .width = Unsigned(s.width),
      .stride_h = Unsigned(s.stride_h),
      .stride_w = Unsigned(s.stride_w),
      .pad_h = Unsigned(s.pad_h),
      .pad_w = Unsigned(s.pad_w),
      .patch_pixels = Unsigned(s.patch_pixels()),
      .row_bytes = Unsigned(s.row_bytes),
      .tap_bytes = {Unsigned(SmallBatchColumnBytes(s, 1)), Unsigned(SmallBatchColumnBytes(s, 2))}};
}

// Which copies of the only source come first: half of them, if every warp then has products and
// copies remain.
void SetEarly(const SmallBatchSource& s, int warps_k, SmallBatchConvPlainParameters& p) {
  p.early_steps = Unsigned(s.steps);
  const int groups = (CeilDiv(s.part_channels, kGroup) + 1) / 2;
  const int chunks = groups * kGroup / kSmallBatchStep;
  if (groups * kGroup >= s.part_channels || chunks * s.kernel_h < warps_k) return;
  p.early_groups = Unsigned(groups);
  p.early_steps = Unsigned(chunks * s.kernel_h * s.kernel_w);
}

}  // namespace

bool IsPlain(const SmallBatchPlan& plan) {
  const SmallBatchTiling& t = plan.tiling;
  int windows = 0;
  for (int i = 0; i < plan.sources; ++i) {
    if (!IsPlainSource(plan.source[i], plan)) return false;
    windows += plan.source[i].gathers() ? 0 : 1;
  }
  const int64_t outputs = int64_t{t.images} * t.rows * t.columns * plan.pitch[0];
  return windows <= 1 && plan.siblings == 1 && plan.filters[0] % plan.tile.filters == 0 &&
         outputs < kMostElements && plan.first_tile[1] <= kMostExtent && t.images <= kMostExtent;
}

PlainConv PlainConvOf(const SmallBatchPlan& plan) {
  const SmallBatchTiling& t = plan.tiling;
  const bool swaps = plan.sources > 1 && !plan.source[1].gathers();
  PlainConv conv = {.parameters = {}, .source = {swaps ? 1 : 0, swaps ? 0 : 1}};
  const SmallBatchSource& first = plan.source[conv.source[0]];
  const SmallBatchSource& second = plan.source[conv.source[1]];
  conv.form = {.pixels = plan.tile.pixels,
               .filters = plan.tile.filters,
               .has_window = !first.gathers(),
               .has_second = plan.sources > 1,
               .is_split = plan.tile.split > 1};

  SmallBatchConvPlainParameters& p = conv.parameters.conv;
  p.source[0] = SourceOf(first);
  p.source[0].patch_at = Unsigned(plan.slab_bytes);
  if (conv.form.has_second) {
    p.source[1] = SourceOf(second);
    p.source[1].patch_at = Unsigned(plan.slab_bytes + first.patch_bytes);
  } else {
    SetEarly(first, plan.warps_k(), p);
  }
  p.columns = FastDivide<uint32_t>(t.flat ? t.columns : t.tile_columns);
  p.pixels = Unsigned(t.rows * t.columns);
  p.pitch = Unsigned(plan.pitch[0]);
  p.log_split = Log(plan.tile.split);
  p.slab_bytes = Unsigned(SmallBatchSlabBytes(plan.tile.filters, plan.steps));
  p.row_bytes = Unsigned(SmallBatchRowBytes(plan.steps));
  p.received_at = Unsigned(plan.slab_bytes + plan.patch_bytes);
  if (conv.form.has_window) conv.parameters.window = WindowOf(first, t);

  conv.shape = {.grid = {Unsigned(t.per_image() * plan.tile.split), Unsigned(plan.first_tile[1]),
                         Unsigned(t.images)},
                .block = {kSmallBatchThreads},
                .shared_bytes = plan.shared_bytes() - plan.table_bytes,
                .cluster = plan.tile.split};
  return conv;
}

}  // namespace onnx_cudnn
