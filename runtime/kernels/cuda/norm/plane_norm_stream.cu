// Blocks take tickets from a counter. In ticket order, work alternates between the moments of an
// item (some channels of some pixels of an image) and the result of an item `lead` items earlier,
// so that its second read hits L2. The block that computes the last item of an image waits for the
// moments of all its other items and joins them, in a fixed tree, to the factors that the image's
// results wait for. A ticket only waits for earlier tickets, whose blocks are running.
#include "runtime/kernels/cuda/norm/plane_norm_stream.h"

#include "runtime/base/integers.h"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/norm/column_moments.cuh"
#include "runtime/kernels/cuda/norm/plane_norm.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 256;  // 80 registers each
constexpr int kBlocks = 3;     // per multiprocessor: 96 KB of loads in flight
// Per item, unless smaller items are needed to occupy all blocks.
constexpr int64_t kItemBytes = 64 << 10;
constexpr int64_t kMostParts = 512;  // joined by one block
// The lead beyond one image is this part of L2: what is read and written between the two reads must
// fit L2, and the factors must be computed in that time.
constexpr int64_t kLeadShare = 6;
using Count = unsigned long long;  // NOLINT: the argument type of atomicAdd

struct StreamParameters {
  const void *x, *scale, *bias;
  void *y, *counts, *parts, *factors;
  ColumnShape columns;                 // over all images; extent: pixels
  FastDivide<uint64_t> column_blocks;  // per image
  FastDivide<uint64_t> image_parts;
  int part_steps;  // in units of blockDim.y · kColumnVectors pixels
  int64_t items;   // over all images
  int64_t lead;    // from one image's items to `items`: how far moments are ahead of results
  // Statistics are joined over a domain: one image, or all images.
  bool joins_images;
  int64_t domain_items, domain_parts, domain_pixels;
  int channels, groups, of_group, group_threads;
  bool has_factors, deviates;
  double epsilon;
};

template <typename C, int kWidth>
__device__ __forceinline__ void StoreLanes(C* to, const C (&lanes)[kWidth]) {
  Vector<C, kWidth> vector;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) vector[k] = lanes[k];
  StoreVector(to, vector);
}

// A thread's part of an item.
struct Item {
  int64_t image, domain;
  int column;      // within the image; none if it is columns_of_one or more
  int64_t part;    // index over all images
  int begin, end;  // pixels

  __device__ __forceinline__ Item(const StreamParameters& p, int64_t item) {
    uint64_t rest = static_cast<uint64_t>(item);
    const int block = static_cast<int>(p.column_blocks.Split(rest));
    part = static_cast<int64_t>(rest);
    const int64_t of_image = static_cast<int64_t>(p.image_parts.Split(rest));
    image = static_cast<int64_t>(rest);
    domain = p.joins_images ? 0 : image;
    column = block * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
    const int64_t pixels = int64_t{p.part_steps} * StepPixels();
    begin = static_cast<int>(of_image * pixels);
    end = static_cast<int>(min(begin + pixels, int64_t{p.columns.extent}));
  }
  __device__ __forceinline__ static int StepPixels() {
    return kColumnVectors * static_cast<int>(blockDim.y);
  }
  __device__ __forceinline__ bool IsLastStep(int from) const { return from + StepPixels() >= end; }
  __device__ __forceinline__ bool HasColumn(const StreamParameters& p) const {
    return column < static_cast<int>(p.columns.columns_of_one.divisor);
  }
  __device__ __forceinline__ int64_t ColumnOfAll(const StreamParameters& p) const {
    if (!HasColumn(p)) return p.columns.columns;
    return image * static_cast<int64_t>(p.columns.columns_of_one.divisor) + column;
  }
};

__device__ __forceinline__ bool IsFirstThread() { return threadIdx.x == 0 && threadIdx.y == 0; }

// counts: the number of tickets taken, then per domain the number of items whose moments are
// complete, plus 1 once its factors are.
__device__ __forceinline__ Count* FinishedOf(const StreamParameters& p, int64_t domain) {
  return static_cast<Count*>(p.counts) + 1 + domain;
}

// Called by the first thread only.
__device__ __forceinline__ Count ClaimTicket(const StreamParameters& p) {
  return atomicAdd(static_cast<Count*>(p.counts), Count{1});
}
__device__ __forceinline__ void CountFinished(const StreamParameters& p, int64_t domain) {
  asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(FinishedOf(p, domain)),
               "l"(Count{1})
               : "memory");
}
__device__ __forceinline__ void AwaitFinished(const StreamParameters& p, int64_t domain,
                                              int64_t count) {
  Count finished = 0;
  while (finished < static_cast<Count>(count)) {
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                 : "=l"(finished)
                 : "l"(FinishedOf(p, domain))
                 : "memory");
  }
}

// parts[part, 0, lane]: the mean; [part, 1, lane]: the squares. Takes a ticket for `next`, except
// for the last item of a domain.
template <typename T, int kWidth>
__device__ __forceinline__ void TakeMoments(const StreamParameters& p, const Item& item,
                                            bool is_last, ComputeOf<T>* scratch, Count* next) {
  using C = ComputeOf<T>;
  ColumnMoments<C, kWidth> moments;
  ColumnSlice<T, kWidth> slice(p.columns, item.ColumnOfAll(p));
#pragma unroll 1
  for (int from = item.begin; from < item.end; from += Item::StepPixels()) {
    slice.Load(static_cast<const T*>(p.x), from, T(0.0F));
    if (IsFirstThread() && item.IsLastStep(from) && !is_last) *next = ClaimTicket(p);
    AddMoments(slice, moments);
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

// Called after TakeMoments: the block with the last item of the domain computes the factors and
// takes its next ticket only then, because other blocks may wait for the factors.
template <typename T, int kWidth>
__device__ __forceinline__ void FinishMoments(const StreamParameters& p, const Item& item,
                                              bool is_last, ComputeOf<T>* scratch, Count* next) {
  using C = ComputeOf<T>;
  __syncthreads();  // the part is written
  if (IsFirstThread()) {
    CountFinished(p, item.domain);
    if (is_last) AwaitFinished(p, item.domain, p.domain_items);
  }
  if (!is_last) return;
  __syncthreads();
  C* parts = static_cast<C*>(p.parts) + item.domain * p.domain_parts * 2 * p.columns.inner;
  JoinParts<C, kWidth>(p, parts, scratch);
  MakeFactors<T, C>(p, parts, static_cast<Factor<C>*>(p.factors) + item.domain * p.columns.inner);
  __syncthreads();
  if (IsFirstThread()) {
    CountFinished(p, item.domain);
    *next = ClaimTicket(p);
  }
  __syncthreads();
}

// Takes a ticket for `next`.
template <typename T, int kWidth>
__device__ __forceinline__ void Normalize(const StreamParameters& p, const Item& item,
                                          Count* next) {
  using C = ComputeOf<T>;
  const T* x = static_cast<const T*>(p.x);
  ColumnSlice<T, kWidth> slice(p.columns, item.ColumnOfAll(p));
  slice.template Load<Reuse::kNone>(x, item.begin, T(0.0F));
  if (IsFirstThread()) AwaitFinished(p, item.domain, p.domain_items + 1);
  __syncthreads();
  Vector<Factor<C>, kWidth> f = {};
  if (item.HasColumn(p)) {
    f = LoadVector<kWidth>(static_cast<const Factor<C>*>(p.factors) +
                           item.domain * p.columns.inner + item.column * kWidth);
  }
  const int present = p.channels - item.column * kWidth;  // lanes beyond these are padding
#pragma unroll 1
  for (int from = item.begin;;) {
    const bool is_last = item.IsLastStep(from);
    if (IsFirstThread() && is_last) *next = ClaimTicket(p);
    slice.Forget();
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      C y[kWidth];
      WidenAll(slice.lanes[j], y);
      if (p.has_factors) {
#pragma unroll
        for (int k = 0; k < kWidth; ++k) y[k] = y[k] * f[k].a + f[k].b;
      } else {
#pragma unroll
        for (int k = 0; k < kWidth; ++k) y[k] = (y[k] - f[k].b) * f[k].a;
      }
      if (present < kWidth) {
#pragma unroll
        for (int k = 0; k < kWidth; ++k) y[k] = k < present ? y[k] : C{0};
      }
      slice.template Store<Reuse::kNone>(static_cast<T*>(p.y), j, NarrowAll<T>(y));
    }
    if (is_last) break;
    from += Item::StepPixels();
    slice.template Load<Reuse::kNone>(x, from, T(0.0F));
  }
  __syncthreads();
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads, kBlocks)
    NormalizeImages(const __grid_constant__ StreamParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  extern __shared__ __align__(16) unsigned char scratch[];
  __shared__ Count tickets[2];  // the current and the next ticket
  if (IsFirstThread()) tickets[0] = ClaimTicket(p);
  __syncthreads();
  for (int i = 0;; i = 1 - i) {
    const int64_t ticket = static_cast<int64_t>(tickets[i]), paired = ticket - p.lead;
    if (ticket >= 2 * p.items) return;
    // First the moments of the first `lead` items, then moments of each further item alternating
    // with results of the first ones, then the results of the last `lead` items.
    const bool is_paired = paired >= 0 && paired < 2 * (p.items - p.lead);
    if (paired < 0 || (is_paired && paired % 2 == 0)) {
      const int64_t index = is_paired ? p.lead + paired / 2 : ticket;
      const Item item(p, index);
      const bool is_last = index == (item.domain + 1) * p.domain_items - 1;
      Count* next = &tickets[1 - i];
      TakeMoments<T, kWidth>(p, item, is_last, reinterpret_cast<C*>(scratch), next);
      FinishMoments<T, kWidth>(p, item, is_last, reinterpret_cast<C*>(scratch), next);
    } else {
      Normalize<T, kWidth>(p, Item(p, is_paired ? paired / 2 : ticket - p.items), &tickets[1 - i]);
    }
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
  const int64_t image_bytes = lanes.pixels * columns * column_bytes;
  const int64_t ahead = options.l2_bytes / kLeadShare * image_items / image_bytes;
  return {.columns = {.columns = lanes.images * columns,
                      .columns_of_one = FastDivide<uint64_t>(columns),
                      .inner = lanes.pitch,
                      .extent = static_cast<int>(lanes.pixels)},
          .column_blocks = FastDivide<uint64_t>(column_blocks),
          .image_parts = FastDivide<uint64_t>(image_parts),
          .part_steps = static_cast<int>(part_steps),
          .items = items,
          .lead = options.joins_images ? items : std::min(items, image_items + ahead),
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
  shape.grid.x = static_cast<unsigned>(std::min(2 * p.items, BlocksOf(options)));

  const int64_t domains = options.joins_images ? 1 : lanes.images;
  const int64_t count_bytes = (1 + domains) * static_cast<int64_t>(sizeof(Count));
  const int64_t part_bytes =
      p.domain_parts * domains * 2 * lanes.pitch * static_cast<int64_t>(sizeof(C));
  const int64_t parts_at = Aligned(count_bytes), factors_at = parts_at + Aligned(part_bytes);
  PlaneNormCalls made;
  made.workspace_bytes =
      factors_at + domains * lanes.pitch * static_cast<int64_t>(sizeof(Factor<C>));
  made.calls.push_back(KernelCall::Fill(Slot::Workspace(), 0, count_bytes));
  KernelCall& call = made.calls.emplace_back(KernelCall::Of(NormalizeImages<T, kWidth>, shape, p));
  call.Bind(offsetof(StreamParameters, x), slots.x);
  call.Bind(offsetof(StreamParameters, y), slots.y);
  call.Bind(offsetof(StreamParameters, counts), Slot::Workspace());
  call.Bind(offsetof(StreamParameters, parts), Slot::Workspace(parts_at));
  call.Bind(offsetof(StreamParameters, factors), Slot::Workspace(factors_at));
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
