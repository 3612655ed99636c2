// Squeeze and excitation. A cluster processes an image; each of its blocks has a part of the
// pixels, of the hidden channels and of the gates. Steps:
//   allow the next launch to start
//   start loading weights to registers, initialize the cluster's barriers
//   wait for the preceding launch; each lane sums 8 channels of its pixels
//   add the sums of the block's pixels and send them to all blocks; each averages all channels
//   multiply with the averages: 8 lanes per hidden channel, 4 channels per warp; send to all blocks
//   multiply with the hidden channels: 8 lanes per gate, likewise
//   write the gates, or send them to all blocks, which multiply the pixels that they summed
// A block ends when everything that other blocks send to it has arrived. Sums are formed in a fixed
// order, so repeated runs are bit-equal.
#include "runtime/kernels/cuda/fused/squeeze_excite.h"

#include "runtime/kernels/cuda/common/activation.cuh"
#include "runtime/kernels/cuda/common/cluster.cuh"
#include "runtime/kernels/cuda/common/copy_engine.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/fused/pixel_share.cuh"
#include "runtime/kernels/cuda/gemm/gemv.cuh"

namespace onnx_cudnn {
namespace {

using Parameters = SqueezeExciteParameters;

constexpr int kWarp = 32, kThreads = kSqueezeExciteThreads;
constexpr int kBlocks = kSqueezeExciteBlocks;
constexpr int kRowLanes = 8, kRows = kWarp / kRowLanes;  // lanes and rows per product of a warp
static_assert(kPixelLanes == kSqueezeExciteVector && kRows == 4 && kBlocks <= kWarp);

#if __CUDA_ARCH__ >= 900

constexpr int kWarps = kThreads / kWarp;
constexpr int kLoads = 8;                           // of pixels, in flight
constexpr int kSqueezeAhead = 6, kExciteAhead = 2;  // loads per row, held in registers
constexpr int kQuadBytes = 16, kQuads = kSqueezeExciteVector / kRows;  // groups of four in a vector

__device__ __forceinline__ void Add(float4& sum, const float4& x) {
  sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
}

// A lane's part of a row of weights: every kRowLanes-th vector.
template <typename T, int n>
struct Row {
  const Words* w = nullptr;
  int count = 0;        // number of its vectors
  Words ahead[n] = {};  // the first vectors
  T bias{};             // converted at its use, so that nothing waits for it here
};

// vectors: of the whole row; part: index of the lane among those that share the row.
template <typename T, int n>
__device__ __forceinline__ Row<T, n> LoadRow(const void* weights, const void* bias, int row,
                                             int vectors, int part) {
  Row<T, n> r;
  r.w = static_cast<const Words*>(weights) + static_cast<int64_t>(row) * vectors + part;
  r.count = (vectors - part + kRowLanes - 1) / kRowLanes;
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if (i < r.count) r.ahead[i] = LoadWords(r.w + i * kRowLanes);
  }
  if (bias != nullptr) r.bias = static_cast<const T*>(bias)[row];
  return r;
}

template <typename T>
__device__ __forceinline__ void AddProducts(const Words& w, const float4* x, float& sum) {
  const float4 low = x[0], high = x[1];
  const float numbers[] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < kSqueezeExciteVector / 2; ++i) {
    const float2 two = Unpack(T{}, w[i]);
    sum += two.x * numbers[2 * i];
    sum += two.y * numbers[2 * i + 1];
  }
}

// The product of the row with x, plus its bias; all lanes that share the row get it.
template <typename T, int n>
__device__ __forceinline__ float Product(const Row<T, n>& row, const float4* x, int part) {
  float sum = 0;
  x += kQuads * part;
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if (i < row.count) AddProducts<T>(row.ahead[i], x + kQuads * kRowLanes * i, sum);
  }
#pragma unroll 4
  for (int i = n; i < row.count; ++i) {
    AddProducts<T>(LoadWords(row.w + i * kRowLanes), x + kQuads * kRowLanes * i, sum);
  }
#pragma unroll
  for (int other = kRowLanes / 2; other > 0; other /= 2) {
    sum += __shfl_xor_sync(~0U, sum, other);
  }
  return Rounded<T>(sum + Widen<float>(row.bias));
}

// Not inlined, so that there is one copy of the code of all activations.
template <typename T>
__device__ __noinline__ float Activated(Activation f, float x) {
  float numbers[] = {x};
  Activate<T>(f, numbers);
  return Rounded<T>(numbers[0]);
}

// Sends the numbers of a warp's rows, as a group of four, to all blocks.
__device__ __forceinline__ void SendRows(const float4* to, uint32_t came, float number, int lane) {
  float4 four;
  four.x = __shfl_sync(~0U, number, 0);
  four.y = __shfl_sync(~0U, number, kRowLanes);
  four.z = __shfl_sync(~0U, number, 2 * kRowLanes);
  four.w = __shfl_sync(~0U, number, 3 * kRowLanes);
  if (lane < kBlocks) Send(AddressIn(SharedAddress(to), lane), AddressIn(came, lane), four);
}

// y: address of the share's first pixel.
template <typename T>
__device__ __forceinline__ void MultiplyPixels(PixelShare share, uint4* y,
                                               const float (&by)[kPixelLanes]) {
  while (share.left > 0) {
    uint4 read[kLoads];
    LoadPixels(share, read);
#pragma unroll
    for (int u = 0; u < kLoads; ++u) {
      if (u * share.step >= share.left) break;
      uint32_t words[] = {read[u].x, read[u].y, read[u].z, read[u].w};
#pragma unroll
      for (int i = 0; i < kPixelLanes / 2; ++i) {
        const float2 two = Unpack(T{}, words[i]);
        words[i] = Pack(T{}, two.x * by[2 * i], two.y * by[2 * i + 1]);
      }
      y[u * share.stride] = make_uint4(words[0], words[1], words[2], words[3]);
    }
    share.left -= kLoads * share.step;
    share.x += kLoads * share.stride;
    y += kLoads * share.stride;
  }
}

// The shared memory of a block; quads: groups of four over all channels.
struct Shared {
  float4* partial;   // [thread, kQuads]: sums of the thread's pixels
  float4* received;  // [block, quads]: sums of the block's pixels
  float4 *means, *hidden, *gates;

  __device__ __forceinline__ Shared(float4* first, int quads, int hidden_quads)
      : partial(first),
        received(partial + kQuads * kThreads),
        means(received + kBlocks * quads),
        hidden(means + quads),
        gates(hidden + hidden_quads) {}
};

// Barriers: data from all blocks has arrived at this one.
struct Came {
  uint32_t sums, hidden, gates;

  template <bool kMultiplies>
  __device__ __forceinline__ void Init(int quads, int hidden_quads) const {
    BarrierInit(sums, 1);
    BarrierInit(hidden, 1);
    BarrierInit(gates, 1);
    BarrierInitFence();
    BarrierExpect(sums, kBlocks * quads * kQuadBytes);
    BarrierExpect(hidden, hidden_quads * kQuadBytes);
    if (kMultiplies) BarrierExpect(gates, quads * kQuadBytes);
  }
};

// Adds the threads' sums of pixels and sends them to all blocks.
__device__ __forceinline__ void SendPixelSums(const Parameters& p, const Shared& shared,
                                              const float (&s)[kPixelLanes], int quads, int rank,
                                              uint32_t came) {
  const int thread = static_cast<int>(threadIdx.x);
  shared.partial[kQuads * thread] = make_float4(s[0], s[1], s[2], s[3]);
  shared.partial[kQuads * thread + 1] = make_float4(s[4], s[5], s[6], s[7]);
  __syncthreads();
  if (thread >= quads) return;
  float4 sum = shared.partial[thread];
#pragma unroll 8
  for (int r = 1; r < p.rows; ++r) Add(sum, shared.partial[r * quads + thread]);
  const uint32_t to = SharedAddress(shared.received + rank * quads + thread);
  for (int block = 0; block < kBlocks; ++block) {
    Send(AddressIn(to, block), AddressIn(came, block), sum);
  }
}

// Averages over the pixels of all blocks.
template <typename T>
__device__ __forceinline__ void MakeMeans(const Parameters& p, const Shared& shared, int quads) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < quads) {
    float4 sum = shared.received[thread];
#pragma unroll
    for (int block = 1; block < kBlocks; ++block) Add(sum, shared.received[block * quads + thread]);
    const float pixels = static_cast<float>(p.pixels);
    shared.means[thread] = make_float4(Rounded<T>(sum.x / pixels), Rounded<T>(sum.y / pixels),
                                       Rounded<T>(sum.z / pixels), Rounded<T>(sum.w / pixels));
  }
  __syncthreads();
}

// The pixels of a thread: a vector of every p.rows-th pixel of the block.
struct OwnPixels {
  PixelShare share;
  int vector;

  __device__ __forceinline__ OwnPixels(const Parameters& p, int64_t image, int rank, int vectors) {
    uint32_t first_row = threadIdx.x;
    vector = static_cast<int>(p.vectors.Split(first_row));
    const int first = rank * p.share + static_cast<int>(first_row);
    const int end = min((rank + 1) * p.share, p.pixels);
    share.x = static_cast<const uint4*>(p.x) + (image * p.pixels + first) * vectors + vector;
    share.step = p.rows;
    share.left = static_cast<int>(first_row) < p.rows ? end - first : 0;
    share.stride = p.rows * vectors;
    share.Settle();
  }
};

// Computes the gates of the warp's rows from `quad` on, and sends them to all blocks or writes them
// to y, from `first` on.
//   excite  the first row
template <typename T, bool kMultiplies>
__device__ __forceinline__ void MakeGates(const Parameters& p, const Shared& shared,
                                          Row<T, kExciteAhead>& excite, int quad, int quads,
                                          int lane, uint32_t came, int64_t first) {
  const int part = lane % kRowLanes;
  for (int q = quad; q < quads; q += kWarps * kBlocks) {
    const int channel = q * kRows + lane / kRowLanes;
    if (q != quad) {
      excite = LoadRow<T, kExciteAhead>(p.excite, p.excite_bias, channel, p.hidden_vectors, part);
    }
    const float gate = Activated<T>(p.gate, Product(excite, shared.hidden, part));
    if constexpr (kMultiplies) {
      SendRows(shared.gates + q, came, gate, lane);
    } else if (part == 0) {
      static_cast<T*>(p.y)[first + channel] = Narrow<T>(gate);
    }
  }
}

template <typename T, bool kMultiplies>
__device__ __forceinline__ void Run(const Parameters& p) {
  extern __shared__ float4 dynamic[];
  __shared__ __align__(8) uint64_t barriers[3];
  const int vectors = static_cast<int>(p.vectors.divisor), quads = kQuads * vectors;
  const int hidden_quads = kQuads * p.hidden_vectors;
  const Shared shared(dynamic, quads, hidden_quads);
  const Came came = {SharedAddress(&barriers[0]), SharedAddress(&barriers[1]),
                     SharedAddress(&barriers[2])};
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int rank = static_cast<int>(blockIdx.x) % kBlocks;
  const int64_t image = static_cast<int>(blockIdx.x) / kBlocks;

  LetNextStart(p.next_uses_pdl);
  if (thread == 0) came.Init<kMultiplies>(quads, hidden_quads);
  ClusterArrive();

  // Loads its rows of both weights: all of `squeeze`, the first ones of `excite`. Hidden channels
  // beyond the last repeat it.
  const int quad = warp * kBlocks + rank, part = lane % kRowLanes;
  const int row = quad * kRows + lane / kRowLanes;
  Row<T, kSqueezeAhead> squeeze;
  if (quad < hidden_quads) {
    squeeze =
        LoadRow<T, kSqueezeAhead>(p.squeeze, p.squeeze_bias, min(row, p.hidden - 1), vectors, part);
  }
  Row<T, kExciteAhead> excite;
  if (quad < quads) {
    excite = LoadRow<T, kExciteAhead>(p.excite, p.excite_bias, row, p.hidden_vectors, part);
  }
  const OwnPixels own(p, image, rank, vectors);
  ClusterWait();
  WaitForLaunchBefore();

  float pixel_sums[kPixelLanes] = {};
  AddPixels<T, kLoads>(own.share, pixel_sums);
  SendPixelSums(p, shared, pixel_sums, quads, rank, came.sums);
  ClusterBarrierWait(came.sums, 0);
  MakeMeans<T>(p, shared, quads);
  if (quad < hidden_quads) {
    const float product = Product(squeeze, shared.means, part);
    const float number = row < p.hidden ? Activated<T>(p.activation, product) : 0.0F;
    SendRows(shared.hidden + quad, came.hidden, number, lane);
  }

  ClusterBarrierWait(came.hidden, 0);
  MakeGates<T, kMultiplies>(p, shared, excite, quad, quads, lane, came.gates,
                            image * vectors * kPixelLanes);

  if constexpr (kMultiplies) {
    ClusterBarrierWait(came.gates, 0);
    const float4* gates = shared.gates + kQuads * own.vector;
    const float4 low = gates[0], high = gates[1];
    const float by[] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    const int64_t first = own.share.x - static_cast<const uint4*>(p.x);
    MultiplyPixels<T>(own.share, static_cast<uint4*>(p.y) + first, by);
  }
}

#endif  // __CUDA_ARCH__ >= 900

template <typename T, bool kMultiplies>
__global__ void __launch_bounds__(kThreads) SqueezeExcite(const __grid_constant__ Parameters p) {
#if __CUDA_ARCH__ >= 900
  Run<T, kMultiplies>(p);
#endif
}

}  // namespace

KernelCall SqueezeExciteCall(DType dtype, bool multiplies, const LaunchShape& shape,
                             const Parameters& p) {
  return DTypeVisitor<KernelCall, Half, BHalf>::Visit(dtype, [&](auto e) {
    using T = decltype(e);
    return multiplies ? KernelCall::Of(SqueezeExcite<T, true>, shape, p)
                      : KernelCall::Of(SqueezeExcite<T, false>, shape, p);
  });
}

}  // namespace onnx_cudnn
