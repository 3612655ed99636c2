// Shared by the stem kernels for halves and for TF32. Timings and design decisions:
// docs/measurements.md, 'Convolutions by wgmma'.
//
// Channels are on M of wgmma (64), one row of the convolution on N (112 pixels); weights are the
// register operand.
//
// K. A position is two image rows × two columns × 3 channels = 12 values. The planes of a row pair
// hold 16 bytes of each position; a row of the convolution reads four positions of four row pairs,
// and only the odd row of the first pair.
//
// N. Column 14 i + j of the convolution is row i of core matrix j, so that the next position is 128
// bytes further, and the neighbours for pooling are in other registers of the same thread except
// for one shuffle.
//
// A block has two streams, each a run of pooled rows, image after image: a warpgroup multiplies and
// pools, two warps copy rows to the planes of a ring, TMA loads raw rows for them. The warpgroups
// alternate at the tensor cores (ping-pong): one pools while the other multiplies.
//
// A Form defines the differences:
//   Raw     the image's elements
//   kRing   steps of two row pairs in a ring
//   kPair   bytes of the planes of a row pair
//   kBoxes  boxes of 56 pixels × 128 bytes per pooled row
//   kSlots  iterations at the tensor cores per pooled row
//   FillPair(columns, from, to)  copies one thread's part (of 64) of the raw rows of a pair
//   Pool    the sums of a warpgroup and their pooling:
//       FirstRow(order, ring, pair)     the row of the convolution before a run, starting at row
//       pair `pair` of the ring
//       SkipFirstRow()                  that row is outside the image
//       TwoRows(order, stream, step, stage)  the next two rows, which give a pooled row in `stage`;
//       releases `step` of the ring
#pragma once

#include "runtime/kernels/cuda/common/copy_engine.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/wgmma.cuh"
#include "runtime/kernels/cuda/fused/stem_pool.h"

namespace onnx_cudnn {
namespace stem_pool {

constexpr int kThreads = 384;       // two warpgroups that multiply, four warps that copy rows
constexpr int kColumns = 112;       // of the convolution
constexpr int kPooledColumns = 56;  // of the result
constexpr int kPooledPart = 7;      // result columns per row of the core matrices
constexpr int kPlane = 2176;        // bytes per plane: 17 positions of 128 bytes
constexpr int kSums = kColumns / 2;

template <typename Raw>
struct RawRows {
  static constexpr int kRow = kStemWidth * static_cast<int>(sizeof(Raw));
  static constexpr int kChannel = 4 * kRow;
  static constexpr int kStep = kStemChannels * kChannel;
  static constexpr int kRing = sizeof(Raw) == 4 ? 2 : 4;  // steps
};

// Two stages per stream, the rings of both streams, their raw rows.
constexpr int kBoxBytes = kPooledColumns * 128;
template <typename Form>
constexpr int kStage = Form::kBoxes* kBoxBytes;  // bytes per pooled row
template <typename Form>
constexpr int kRingsAt = 4 * kStage<Form>;
template <typename Form>
constexpr int kRawAt = kRingsAt<Form> + 4 * Form::kRing* Form::kPair;
template <typename Form>
constexpr int kSharedBytes =
    kRawAt<Form> + 2 * RawRows<typename Form::Raw>::kRing* RawRows<typename Form::Raw>::kStep +
    1024;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// One stream of a block.
template <typename Form>
struct Stream {
  using Rows = RawRows<typename Form::Raw>;
  static constexpr int kBarriers = 2 * Form::kRing + Rows::kRing;
  uint32_t full, empty, raw_full;  // barriers: for the steps of a ring, for raw steps
  uint32_t ring, raw, stages;      // shared memory addresses
  int first, last;                 // rows

  __device__ Stream(uint32_t barriers, uint32_t shared, int stream, int rows) {
    full = barriers + stream * kBarriers * 8;
    empty = full + 8 * Form::kRing;
    raw_full = empty + 8 * Form::kRing;
    stages = shared + stream * 2 * kStage<Form>;
    ring = shared + kRingsAt<Form> + stream * 2 * Form::kRing * Form::kPair;
    raw = shared + kRawAt<Form> + stream * Rows::kRing * Rows::kStep;
    const unsigned streams = gridDim.x * 2, id = blockIdx.x * 2 + stream;
    first = static_cast<int>(static_cast<uint64_t>(rows) * id / streams);
    last = static_cast<int>(static_cast<uint64_t>(rows) * (id + 1) / streams);
  }

  __device__ void WaitFull(int step) const {
    BarrierWait(full + 8 * (step % Form::kRing), step / Form::kRing & 1);
  }
  __device__ void Release(int step, int lane) const {
    if (lane == 0) BarrierArrive(empty + 8 * (step % Form::kRing));
  }
};

// Rows of one image. A stream processes one run after the other.
struct Run {
  int image, begin, end;  // pooled rows of the image

  __device__ Run(int row, int last, int image_rows)
      : image(row / image_rows), begin(row - image * image_rows) {
    end = min(image_rows, begin + last - row);
  }
  __device__ int rows() const { return end - begin; }
  // Each step loads four image rows; the first two steps of a run serve the row before it.
  __device__ int steps() const { return rows() + 2; }
};

__device__ __forceinline__ float4 LoadFloats(uint32_t from) {
  float4 f;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(f.x), "=f"(f.y), "=f"(f.z), "=f"(f.w)
               : "r"(from));
  return f;
}
__device__ __forceinline__ float2 LoadTwoFloats(uint32_t from) {
  float2 f;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(f.x), "=f"(f.y) : "r"(from));
  return f;
}
__device__ __forceinline__ void StoreWords(uint32_t to, uint32_t a, uint32_t b, uint32_t c,
                                           uint32_t d) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

// Starts loading raw rows, run by run.
template <typename Form>
class RawLoader {
 public:
  using Rows = RawRows<typename Form::Raw>;

  __device__ RawLoader(const StemPoolParameters& p, const Stream<Form>& stream)
      : p_(p), stream_(stream), row_(stream.first) {}

  __device__ void Next() {
    if (left_ == 0) {
      if (row_ >= stream_.last) return;
      const Run run(row_, stream_.last, p_.image_rows);
      image_ = run.image;
      image_row_ = 4 * run.begin - 6;
      left_ = run.steps();
      row_ += run.rows();
    }
    constexpr int kDepth = Rows::kRing;
    const uint32_t barrier = stream_.raw_full + 8 * (asked_ % kDepth);
    BarrierExpect(barrier, Rows::kStep);
    LoadBox(stream_.raw + asked_ % kDepth * Rows::kStep, p_.image, barrier, 0, image_row_,
            image_ * kStemChannels);
    image_row_ += 4;
    --left_;
    ++asked_;
  }

 private:
  const StemPoolParameters& p_;
  const Stream<Form>& stream_;
  int row_, left_ = 0, image_ = 0, image_row_ = 0;
  unsigned asked_ = 0;
};

// The part of one of 64 threads: positions 2m and 2m + 1 of core row `i`, the last thread position
// 16 too. It copies four pixels of a row from `first` on and two from `third` on (bytes); zeros
// outside the image.
struct Columns {
  bool has_first, has_third, is_last;
  uint32_t first, third;

  __device__ Columns(int i, int m, int pixel_bytes) {
    const int pair = 14 * i + 2 * m - 2;
    has_first = pair >= 0;
    has_third = pair + 2 < kStemWidth / 2;
    is_last = m == 7;
    first = max(pair, 0) * 2 * pixel_bytes;
    third = min(pair + 2, kStemWidth / 2 - 1) * 2 * pixel_bytes;
  }
};

// 64 threads copy raw rows to the planes of the ring.
template <typename Form>
__device__ __forceinline__ void BringRows(const StemPoolParameters& p, const Stream<Form>& stream,
                                          int thread, int sync_name) {
  using Rows = RawRows<typename Form::Raw>;
  const int i = thread & 7, m = thread >> 3;
  const Columns columns(i, m, static_cast<int>(sizeof(typename Form::Raw)));
  const uint32_t to = m * 256 + i * 16;
  RawLoader<Form> loader(p, stream);
  if (thread == 0) {
    WaitForLaunchBefore();
    for (int n = 0; n < Rows::kRing; ++n) loader.Next();
  }
  int steps = 0;
  for (int row = stream.first; row < stream.last;) {
    const Run run(row, stream.last, p.image_rows);
    row += run.rows();
    steps += run.steps();
  }
  for (int n = 0; n < steps; ++n) {
    uint32_t slot = stream.ring + n % Form::kRing * 2 * Form::kPair + to;
    uint32_t from = stream.raw + n % Rows::kRing * Rows::kStep;
    BarrierWait(stream.empty + 8 * (n % Form::kRing), (n / Form::kRing & 1) ^ 1);
    BarrierWait(stream.raw_full + 8 * (n % Rows::kRing), n / Rows::kRing & 1);
#pragma unroll
    for (int half = 0; half < 2; ++half, from += 2 * Rows::kRow, slot += Form::kPair) {
      Form::FillPair(columns, from, slot);
    }
    SharedFence();
    __syncwarp();
    if ((thread & 31) == 0) BarrierArrive(stream.full + 8 * (n % Form::kRing));
    NamedSync(sync_name, 64);
    if (thread == 0) loader.Next();
  }
}

// No swizzle, K-major: `along_k` bytes to the next 16 of K, `along_n` to the next 8 of N.
__device__ __forceinline__ uint64_t Descriptor(uint32_t address, int along_k, int along_n) {
  return static_cast<uint64_t>((address >> 4) | (along_k >> 4) << 16) |
         static_cast<uint64_t>(along_n >> 4) << 32;
}

// The order in which the streams use the tensor cores: they alternate, stream 0 begins. The number
// of the stream is a template argument, so that descriptors stay in uniform registers.
template <int kStream>
class PingPong {
 public:
  __device__ PingPong() {
    if (kStream == 1) NamedArrive(5, 256);
  }
  // Waits until the other stream has left the tensor cores.
  __device__ void Wait() const { NamedSync(5 + kStream, 256); }
  __device__ void Arrive() {
    NamedArrive(6 - kStream, 256);
    ++arrivals_;
  }
  // Keeps taking part until this stream has arrived `arrivals` times, so that the other stream,
  // which waits for each arrival, is not blocked.
  __device__ void ArriveUntil(int arrivals) {
    while (arrivals_ < arrivals) {
      Wait();
      Arrive();
    }
  }

 private:
  int arrivals_ = 0;
};

// How often a stream arrives: Form::kSlots times per row, and once more per run.
template <typename Form>
__device__ __forceinline__ int ArrivalsOf(const Stream<Form>& stream, int image_rows) {
  int arrivals = Form::kSlots * (stream.last - stream.first);
  for (int row = stream.first; row < stream.last; ++arrivals) {
    row += Run(row, stream.last, image_rows).rows();
  }
  return arrivals;
}

// The weights and biases of a lane: channels g and g + 8 of its warp's sixteen.
template <int kSteps>
struct Filters {
  uint4 weights[kSteps];
  float bias[2];

  __device__ __forceinline__ Filters(const StemPoolParameters& p, int thread) {
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      weights[k] = static_cast<const uint4*>(p.weights)[k * 128 + thread];
    }
    const int channel = (thread >> 5) * 16 + ((thread & 31) >> 2);
    bias[0] = p.bias[channel];
    bias[1] = p.bias[channel + 8];
  }
};

// Stores a pooled row that the warpgroup has written to `stage`.
template <typename Form>
__device__ __forceinline__ void SendRow(const StemPoolParameters& p, uint32_t stage, int thread,
                                        int sync_name, int row) {
  constexpr int kBoxChannels = kStemFilters / Form::kBoxes;
  SharedFence();
  if (thread == 0) StoresHaveRead();  // of the other stage, which is overwritten next
  NamedSync(sync_name, 128);
  if (thread != 0) return;
#pragma unroll
  for (int box = 0; box < Form::kBoxes; ++box) {
    StoreBox(p.pooled, stage + box * kBoxBytes, box * kBoxChannels, row * kPooledColumns);
  }
}

// Runs in one warpgroup.
template <typename Form, int kStream>
__device__ __forceinline__ void MultiplyAndPool(const StemPoolParameters& p, uint32_t barriers,
                                                uint32_t shared) {
  const int thread = threadIdx.x & 127, lane = thread & 31;
  const Stream<Form> stream(barriers, shared, kStream, p.rows);
  const Stream<Form> other(barriers, shared, 1 - kStream, p.rows);
  const int first = __shfl_sync(~0u, stream.first, 0), last = __shfl_sync(~0u, stream.last, 0);
  typename Form::Pool pool(p, thread);
  int step = 0, stored = 0;
  PingPong<kStream> order;
  for (int row = first; row < last;) {
    const Run run(row, last, p.image_rows);
    stream.WaitFull(step);
    stream.WaitFull(step + 1);
    pool.FirstRow(order, stream.ring, 2 * step);
    if (run.begin == 0) pool.SkipFirstRow();
    for (int y = run.begin; y < run.end; ++y, ++row, ++step) {
      stream.WaitFull(step + 2);
      const uint32_t stage = stream.stages + (stored++ & 1) * kStage<Form>;
      pool.TwoRows(order, stream, step, stage);
      SendRow<Form>(p, stage, thread, /*sync_name=*/1 + kStream, row);
    }
    stream.Release(step, lane);
    stream.Release(step + 1, lane);
    step += 2;
  }
  order.ArriveUntil(ArrivalsOf(other, p.image_rows));
  if (thread == 0) StoresAreDone();
}

template <typename Form>
__device__ __forceinline__ void InitBarriers(uint32_t barriers) {
  for (int stream = 0; stream < 2; ++stream) {
    uint32_t barrier = barriers + stream * Stream<Form>::kBarriers * 8;
    for (int i = 0; i < Form::kRing; ++i, barrier += 8) BarrierInit(barrier, 2);  // two warps fill
    for (int i = 0; i < Form::kRing; ++i, barrier += 8) BarrierInit(barrier, 4);  // four warps read
    for (int i = 0; i < Stream<Form>::Rows::kRing; ++i, barrier += 8) BarrierInit(barrier, 1);
  }
  BarrierInitFence();
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <typename Form>
__global__ void __launch_bounds__(kThreads, 1)
    StemPool([[maybe_unused]] const __grid_constant__ StemPoolParameters p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char dynamic[];
  __shared__ __align__(8) uint64_t barrier_words[2 * Stream<Form>::kBarriers];
  const uint32_t shared = (SharedAddress(dynamic) + 1023) & ~1023u;
  const uint32_t barriers = SharedAddress(barrier_words);
  const int thread = static_cast<int>(threadIdx.x);
  LetNextStart(p.next_uses_pdl);
  if (thread == 0) InitBarriers<Form>(barriers);
  __syncthreads();
  // A shuffle tells the compiler that the value is uniform in the warp, so that it can use uniform
  // registers.
  const int part = __shfl_sync(~0u, thread >> 7, 0);
  if (part == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    const int stream = (thread - 256) >> 6;
    BringRows<Form>(p, Stream<Form>(barriers, shared, stream, p.rows), thread & 63, 3 + stream);
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  if (part == 0) {
    MultiplyAndPool<Form, 0>(p, barriers, shared);
  } else {
    MultiplyAndPool<Form, 1>(p, barriers, shared);
  }
#endif
}

template <typename Form>
KernelCall Call(const StemPoolParameters& parameters, int multiprocessors) {
  LaunchShape shape{.block = {kThreads}, .shared_bytes = kSharedBytes<Form>};
  shape.grid.x = multiprocessors;
  return KernelCall::Of(StemPool<Form>, shape, parameters);
}

}  // namespace stem_pool
}  // namespace onnx_cudnn
