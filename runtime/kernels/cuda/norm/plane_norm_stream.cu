// Blocks take tickets from a counter. A ticket is an item: some channels of some pixels of an
// image. A block computes the item's moments and keeps its elements in shared memory; the block
// that finishes the last item of an image joins the moments of all its items, in a fixed tree, to
// the factors. Where an item would find no memory, the block first writes the result of its oldest
// one. It waits for factors only if all items that they need have been taken, by running blocks;
// otherwise it drops the elements and reads them again after the last ticket.
#include "runtime/kernels/cuda/norm/plane_norm_stream.h"

#include "runtime/base/integers.h"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/norm/column_moments.cuh"
#include "runtime/kernels/cuda/norm/plane_norm_items.cuh"

namespace onnx_cudnn {
namespace {

using plane_norm::ClaimTicket;
using plane_norm::Count;
using plane_norm::CountFinished;
using plane_norm::Drop;
using plane_norm::IsFirstThread;
using plane_norm::Item;
using plane_norm::kBlocks;
using plane_norm::kMostKept;
using plane_norm::kThreads;
using plane_norm::kTickets;
using plane_norm::StreamParameters;
using plane_norm::WriteDropped;
using plane_norm::WriteKept;

// Per item, unless smaller items are needed to occupy all blocks: the loads of one step.
constexpr int64_t kItemBytes = 32 << 10;
constexpr int64_t kMostParts = 512;  // joined by one block

template <typename C, int kWidth>
__device__ __forceinline__ void StoreLanes(C* to, const C (&lanes)[kWidth]) {
  Vector<C, kWidth> vector;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) vector[k] = lanes[k];
  StoreVector(to, vector);
}

// parts[part, 0, lane]: the mean; [part, 1, lane]: the squares. Takes a ticket for `next`, and
// calls make_room() before it stores the item's elements to `kept`, while they are being loaded.
template <typename T, int kWidth, typename MakeRoom>
__device__ __forceinline__ void TakeMoments(const StreamParameters& p, const Item& item, T* kept,
                                            ComputeOf<T>* scratch, Count* next,
                                            const MakeRoom& make_room) {
  using C = ComputeOf<T>;
  ColumnSlice<T, kWidth> slice(p.columns, item.ColumnOfAll(p));
  slice.Load(static_cast<const T*>(p.x), item.begin, T(0.0F));
  if (IsFirstThread()) *next = ClaimTicket(p);
  make_room();
  ColumnMoments<C, kWidth> moments;  // not before, limited by registers
#pragma unroll 1
  for (int from = item.begin;;) {
    if (p.kept > 0) {
#pragma unroll
      for (int j = 0; j < kColumnVectors; ++j) {
        StoreVector(kept + j * kThreads * kWidth, slice.lanes[j]);
      }
      kept += kColumnVectors * kThreads * kWidth;
    }
    AddMoments(slice, moments);
    from += Item::StepPixels();
    if (from >= item.end) break;
    slice.Load(static_cast<const T*>(p.x), from, T(0.0F));
  }
  moments.JoinThreads(static_cast<C>(item.end - item.begin), scratch);
  if (threadIdx.y != 0 || !item.HasColumn(p)) return;
  C* part = static_cast<C*>(p.parts) + item.part * 2 * p.columns.inner + item.column * kWidth;
  StoreLanes(part, moments.mean);
  StoreLanes(part + p.columns.inner, moments.squares);
}

// Joins the parts of each lane of a domain, in place of the first part. Called by all threads.
template <typename C, int kWidth>
__device__ __forceinline__ void JoinParts(const StreamParameters& p, C* parts, C* scratch) {
  constexpr int kAtOnce = kWidth == 8 ? 2 : 4;
  const int columns = static_cast<int>(p.columns.columns_of_one.divisor);
  const int64_t inner = p.columns.inner, part_pixels = int64_t{p.part_steps} * Item::StepPixels();
#pragma unroll 1
  for (int first = 0; first < columns; first += static_cast<int>(blockDim.x)) {
    const int column = first + static_cast<int>(threadIdx.x);
    const int64_t end = column < columns ? p.domain_parts : 0;
    ColumnMoments<C, kWidth> moments;
#pragma unroll 1
    for (int64_t part = threadIdx.y; part < end; part += kAtOnce * blockDim.y) {
      Vector<C, kWidth> mean[kAtOnce], squares[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int64_t own = min(part + i * blockDim.y, end - 1);
        const C* from = parts + own * 2 * inner + column * kWidth;
        mean[i] = LoadVector<kWidth>(from);
        squares[i] = LoadVector<kWidth>(from + inner);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int64_t own = part + i * blockDim.y;
        if (own >= end) break;
        const auto of_image =
            static_cast<int64_t>(p.image_parts.Modulo(static_cast<uint64_t>(own)));
        const C n = static_cast<C>(min(part_pixels, p.columns.extent - of_image * part_pixels));
        const JoinShares<C> shares(moments.n, n);
        moments.n += n;
#pragma unroll
        for (int k = 0; k < kWidth; ++k) {
          shares.Join(moments.mean[k], moments.squares[k], mean[i][k], squares[i][k]);
        }
      }
    }
    moments.JoinThreads(static_cast<C>(p.domain_pixels), scratch);
    if (threadIdx.y != 0 || column >= columns) continue;
    StoreLanes(parts + column * kWidth, moments.mean);
    StoreLanes(parts + inner + column * kWidth, moments.squares);
  }
  __syncthreads();
}

// Computes factors[domain, lane] from the result of JoinParts; group_threads threads join the
// channels of a group.
template <typename T, typename C>
__device__ __forceinline__ void MakeFactors(const StreamParameters& p, const C* parts,
                                            Factor<C>* factors) {
  const C n = static_cast<C>(p.domain_pixels);
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const int own = thread & (p.group_threads - 1), at_once = kThreads / p.group_threads;
#pragma unroll 1
  for (int first = 0; first < p.groups; first += at_once) {
    const int group = first + thread / p.group_threads;
    const int of_group = group < p.groups ? p.of_group : 0;
    Moments<C> moments = {0, 0, 0};
    for (int i = own; i < of_group; i += p.group_threads) {
      const C* channel = parts + group * p.of_group + i;
      moments = JoinMoments()(moments, Moments<C>{n, channel[0], channel[p.columns.inner]});
    }
    moments = JoinRow(moments, p.group_threads, static_cast<Moments<C>*>(nullptr), JoinMoments());
    const C inverse = InverseOf(p, moments.variance());
    for (int i = own; i < of_group; i += p.group_threads) {
      const int channel = group * p.of_group + i;
      factors[channel] = JoinedFactor<T>(p, channel, moments.mean, inverse);
    }
  }
}

// Called after TakeMoments: the block that completes the moments of a domain computes its factors.
template <typename T, int kWidth>
__device__ __forceinline__ void FinishMoments(const StreamParameters& p, const Item& item,
                                              ComputeOf<T>* scratch, bool* is_last) {
  using C = ComputeOf<T>;
  __syncthreads();  // the part is written
  if (IsFirstThread()) {
    *is_last = CountFinished(p, item.domain) == static_cast<Count>(p.domain_items - 1);
  }
  __syncthreads();
  if (!*is_last) return;
  C* parts = static_cast<C*>(p.parts) + item.domain * p.domain_parts * 2 * p.columns.inner;
  JoinParts<C, kWidth>(p, parts, scratch);
  MakeFactors<T, C>(p, parts, static_cast<Factor<C>*>(p.factors) + item.domain * p.columns.inner);
  __syncthreads();
  if (IsFirstThread()) CountFinished(p, item.domain);
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads, kBlocks)
    NormalizeImages(const __grid_constant__ StreamParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  extern __shared__ __align__(16) unsigned char scratch_bytes[];
  __shared__ Count tickets[kTickets];
  __shared__ int64_t last_dropped;
  __shared__ bool is_last;
  C* scratch = reinterpret_cast<C*>(scratch_bytes);
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  // Of this thread, for ticket i.
  const auto kept = [&](int i) {
    T* const own = reinterpret_cast<T*>(scratch_bytes + p.kept_at) + thread * kWidth;
    const int slot = i & (kMostKept - 1) & (p.kept - 1);
    return own + slot * p.part_steps * kColumnVectors * kThreads * kWidth;
  };
  const auto item_of = [&](int i) {
    return Item(p, static_cast<int64_t>(tickets[i & (kTickets - 1)]));
  };
  if (IsFirstThread()) tickets[0] = ClaimTicket(p), last_dropped = -1;
  __syncthreads();
  int i = 0;
#pragma unroll 1
  for (; tickets[i & (kTickets - 1)] < static_cast<Count>(p.items); ++i) {
    const Item item = item_of(i);
    TakeMoments<T, kWidth>(p, item, kept(i), scratch, &tickets[(i + 1) & (kTickets - 1)], [&] {
      if (i < p.kept) return;
      const Item oldest = item_of(i - p.kept);
      if (oldest.domain < item.domain) return WriteKept<T, kWidth>(p, oldest, kept(i));
      const auto ticket = static_cast<int64_t>(tickets[(i - p.kept) & (kTickets - 1)]);
      if (IsFirstThread()) Drop(p, ticket, &last_dropped);
    });
    FinishMoments<T, kWidth>(p, item, scratch, &is_last);
  }
#pragma unroll 1
  for (int k = max(i - p.kept, 0); k < i; ++k) WriteKept<T, kWidth>(p, item_of(k), kept(k));
  __syncthreads();
#pragma unroll 1
  for (int64_t at = last_dropped; at >= 0; at = static_cast<const int64_t*>(p.dropped)[at]) {
    WriteDropped<T, kWidth>(p, Item(p, at));
  }
}

int64_t Aligned(int64_t bytes) { return CeilDiv(bytes, 256) * 256; }

int64_t BlocksOf(const PlaneNormOptions& options) {
  return int64_t{kBlocks} * std::max(1, options.multiprocessors);
}

// Columns per block: 32, or fewer if 32 would leave many blocks without work; vectors of at least
// 128 bytes.
int BlockColumns(int64_t columns, bool is_wide) {
  const int least = is_wide ? 8 : 32;
  int x = std::min(32, PowerOfTwoFrom(columns));
  while (x > least && columns % x != 0) x /= 2;
  return x;
}

// How many items of `bytes` a block keeps besides `scratch` bytes: a power of two, or none.
int KeptItems(int64_t bytes, int64_t scratch, int64_t shared_bytes) {
  constexpr int64_t kReserved = 1 << 10;  // of each block's shared memory
  if (bytes > kItemBytes || scratch + bytes > shared_bytes) return 0;
  const int64_t of_block = (shared_bytes + kReserved) / kBlocks - kReserved - scratch;
  return of_block / bytes >= kMostKept ? kMostKept : 1;
}

// columns, column_bytes  vectors of a pixel, and their size
// Leaves the addresses unset.
StreamParameters ParametersOf(const PlaneLanes& lanes, const PlaneNormOptions& options,
                              int64_t columns, int64_t column_bytes, const LaunchShape& shape) {
  const int64_t images_joined = options.joins_images ? lanes.images : 1;
  const int64_t of_group = lanes.channels / options.groups;
  const int64_t steps = CeilDiv(lanes.pixels, int64_t{kColumnVectors} * shape.block.y);
  const int64_t column_blocks = CeilDiv(columns, shape.block.x);
  const int64_t step_bytes = int64_t{kThreads} * kColumnVectors * column_bytes;
  const int64_t wanted_steps = std::min(
      kItemBytes / step_bytes, CeilDiv(lanes.images * steps * column_blocks, BlocksOf(options)));
  const int64_t part_steps =
      std::min(steps, std::max(wanted_steps, CeilDiv(steps * images_joined, kMostParts)));
  const int64_t image_parts = CeilDiv(steps, part_steps);
  const int64_t image_items = image_parts * column_blocks, items = lanes.images * image_items;
  const int scratch = CeilDiv(shape.shared_bytes, kVectorBytes) * kVectorBytes;
  return {.columns = {.columns = lanes.images * columns,
                      .columns_of_one = FastDivide<uint64_t>(columns),
                      .inner = lanes.pitch,
                      .extent = static_cast<int>(lanes.pixels)},
          .column_blocks = FastDivide<uint64_t>(column_blocks),
          .image_parts = FastDivide<uint64_t>(image_parts),
          .part_steps = static_cast<int>(part_steps),
          .items = items,
          .kept = KeptItems(part_steps * step_bytes, scratch, options.shared_bytes),
          .kept_at = scratch,
          .joins_images = options.joins_images,
          .domain_items = image_items * images_joined,
          .domain_parts = image_parts * images_joined,
          .domain_pixels = lanes.pixels * images_joined,
          .channels = static_cast<int>(lanes.channels),
          .groups = static_cast<int>(options.groups),
          .of_group = static_cast<int>(of_group),
          .group_threads = std::min(32, PowerOfTwoFrom(of_group)),
          .has_factors = options.has_factors,
          .deviates = options.deviates,
          .epsilon = options.epsilon};
}

template <typename T, int kWidth>
PlaneNormCalls CallsOf(const PlaneLanes& lanes, const PlaneNormOptions& options,
                       const PlaneNormSlots& slots) {
  using C = ComputeOf<T>;
  const int64_t columns = lanes.pitch / kWidth;
  LaunchShape shape;
  shape.block.x = static_cast<unsigned>(BlockColumns(columns, kWidth > 1));
  shape.block.y = kThreads / shape.block.x;
  shape.shared_bytes = ColumnScratchBytes(shape, kWidth * static_cast<int>(sizeof(C)));
  const StreamParameters p =
      ParametersOf(lanes, options, columns, kWidth * static_cast<int64_t>(sizeof(T)), shape);
  shape.grid.x = static_cast<unsigned>(std::min(p.items, BlocksOf(options)));
  shape.shared_bytes = p.kept_at + p.kept * p.part_steps * kThreads * kColumnVectors * kWidth *
                                       static_cast<int>(sizeof(T));

  const int64_t domains = options.joins_images ? 1 : lanes.images;
  const int64_t count_bytes = (1 + domains) * static_cast<int64_t>(sizeof(Count));
  const int64_t part_bytes =
      p.domain_parts * domains * 2 * lanes.pitch * static_cast<int64_t>(sizeof(C));
  const int64_t parts_at = Aligned(count_bytes), factors_at = parts_at + Aligned(part_bytes);
  PlaneNormCalls made;
  const int64_t factor_bytes = domains * lanes.pitch * static_cast<int64_t>(sizeof(Factor<C>));
  const int64_t dropped_at = factors_at + Aligned(factor_bytes);
  made.workspace_bytes = dropped_at + p.items * static_cast<int64_t>(sizeof(int64_t));
  made.calls.push_back(KernelCall::Fill(Slot::Workspace(), 0, count_bytes));
  KernelCall& call = made.calls.emplace_back(KernelCall::Of(NormalizeImages<T, kWidth>, shape, p));
  call.Bind(offsetof(StreamParameters, x), slots.x);
  call.Bind(offsetof(StreamParameters, y), slots.y);
  call.Bind(offsetof(StreamParameters, counts), Slot::Workspace());
  call.Bind(offsetof(StreamParameters, parts), Slot::Workspace(parts_at));
  call.Bind(offsetof(StreamParameters, factors), Slot::Workspace(factors_at));
  call.Bind(offsetof(StreamParameters, dropped), Slot::Workspace(dropped_at));
  if (!options.has_factors) return made;
  call.Bind(offsetof(StreamParameters, scale), slots.scale);
  call.Bind(offsetof(StreamParameters, bias), slots.bias);
  return made;
}

}  // namespace

PlaneNormCalls PlaneNormStream(DType dtype, const PlaneLanes& lanes,
                               const PlaneNormOptions& options, const PlaneNormSlots& slots) {
  return VisitFloat<PlaneNormCalls>(dtype, [&](auto e) {
    using T = decltype(e);
    constexpr int kWide = sizeof(T) == 8 ? 1 : kVectorBytes / sizeof(T);  // limited by registers
    return lanes.pitch % kWide == 0 ? CallsOf<T, kWide>(lanes, options, slots)
                                    : CallsOf<T, 1>(lanes, options, slots);
  });
}

}  // namespace onnx_cudnn
