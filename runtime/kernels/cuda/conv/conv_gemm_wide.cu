// Tiles with filters on M of wgmma and pixels on N, so that a tile may have 192 or 256 pixels. A
// piece of the result is 64 pixels × 64 filters (128 bytes per pixel, 256 in f32); each warpgroup
// has its own ring of pieces.
//
// Either both warpgroups compute 64 filters each of the same tile, and the first one is some slices
// ahead; or each has tiles of its own, and they alternate at the tensor cores (ping-pong). In both
// cases one finishes its tile while the other multiplies.
#include "runtime/kernels/cuda/common/gelu.cuh"
#include "runtime/kernels/cuda/conv/conv_gemm.cuh"

namespace onnx_cudnn {

using namespace conv_gemm;  // NOLINT(google-build-using-namespace): its other half

namespace {

constexpr int kRows = 64;  // on M: filters per product
// What is done with sums and biases.
enum class Ending : uint8_t { kPlain, kResidual, kGelu };
template <int kAccumulators, bool kPingPong>
constexpr int kTileFilters = kAccumulators* kRows*(kPingPong ? 1 : 2);

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int kGroupWarps = 4;
constexpr int kPiecePixels = 64;
constexpr int kPiecesOfGroup = kMost / 2;              // at most
constexpr int kPieceBytes = kPiecePixels * kRowBytes;  // for 16 bits; f32 has two such boxes
constexpr int kOrder = 1, kLead = 3;                   // named barriers
template <typename T>
constexpr int kBoxes = static_cast<int>(sizeof(T)) / 2;  // per piece
static_assert(kPiecesOfGroup >= 4);

// The tiles of a warpgroup.
template <bool kPingPong, int kGroup>
struct GroupTiles : BlockTiles {
  __device__ GroupTiles() {
    if (!kPingPong) return;
    first += kGroup * step;
    step *= 2;
  }
};

// Runs in one warpgroup, which computes kAccumulators × 64 filters of its tiles. Its number is a
// template argument, so that descriptors stay in uniform registers.
template <typename T, int kAccumulators, int kPixels, bool kPingPong, Ending kEnding, int kGroup>
class Multiplier {
  static constexpr bool kResidual = kEnding == Ending::kResidual;
  static constexpr int kFilters = kTileFilters<kAccumulators, kPingPong>;
  static constexpr int kFirstFilter = kPingPong ? 0 : kGroup * kRows;
  using Sums = float[kAccumulators][kPixels / 2];
  using Biases = float[kAccumulators][2];  // for a lane's filters, eight apart

 public:
  __device__ Multiplier(const ConvGemmParameters& p, const Rings& rings)
      : p_(p), rings_(rings), warp_((threadIdx.x & 127) >> 5), lane_(threadIdx.x & 31) {}

  __device__ __forceinline__ void Run() {
    const GroupTiles<kPingPong, kGroup> own;
    if (kPingPong && kGroup == 1) {  // the other warpgroup begins
      NamedArrive(kOrder, 256);
      slice_.Skip(p_.slices, p_.stages);
    }
    for (int t = own.first; t < p_.tiles; t += own.step) {
      Sums sums;
      Biases biases;
      LoadBiases(biases, Tile(p_, t).filters * kFilters + kFirstFilter);
      if (kPingPong) NamedSync(kOrder + kGroup, 256);
      if (!kPingPong && kGroup == 1 && p_.lead > 0) NamedSync(kLead, 256);
      // The products of one slice stay in flight while those of the next one are issued.
      int before = 0;
      for (int k = 0; k < p_.slices; ++k) {
        BarrierWait(rings_.full + 8 * slice_.buffer, slice_.parity);
        Multiply(sums, k);
        if (kPingPong && k + 1 == p_.slices) NamedArrive(kOrder + 1 - kGroup, 256);
        if (!kPingPong && kGroup == 0 && k + 1 == p_.lead) NamedArrive(kLead, 256);
        Wait<1>(sums);
        if (k > 0 && lane_ == 0) BarrierArrive(rings_.empty + 8 * before);
        before = slice_.buffer;
        slice_.Next(p_.stages);
      }
      Wait<0>(sums);
      if (lane_ == 0) BarrierArrive(rings_.empty + 8 * before);
      if (kPingPong) slice_.Skip(p_.slices, p_.stages);
      Finish(sums, biases);
    }
  }

 private:
  __device__ __forceinline__ void LoadBiases(Biases& biases, int first_filter) const {
#pragma unroll
    for (int m = 0; m < kAccumulators; ++m) {
      const float* own = p_.bias + first_filter + m * kRows + warp_ * 16 + (lane_ >> 2);
      biases[m][0] = own[0];
      biases[m][1] = own[8];
    }
  }

  template <int kPending>
  __device__ __forceinline__ static void Wait(Sums& sums) {
#pragma unroll
    for (int m = 0; m < kAccumulators; ++m) WgmmaWait<kPending>(sums[m]);
  }

  // Multiplies slice k of a tile.
  __device__ __forceinline__ void Multiply(Sums& sums, int k) const {
    const uint32_t pixels = rings_.slices + slice_.buffer * kPixels * kRowBytes;
    const uint32_t weights = rings_.weights + (slice_.buffer * kFilters + kFirstFilter) * kRowBytes;
#pragma unroll
    for (int m = 0; m < kAccumulators; ++m) Pin(sums[m]);
    WgmmaFence();
#pragma unroll
    for (int at = 0; at < kRowBytes; at += kStepBytes) {
#pragma unroll
      for (int m = 0; m < kAccumulators; ++m) {
        Wgmma(T(), sums[m], SwizzledOperand(weights + m * kRows * kRowBytes + at),
              SwizzledOperand(pixels + at), at > 0 || k > 0);
      }
    }
    WgmmaCommit();
  }

  // Applies bias, residual and ReLU, or Gelu, piece by piece.
  __device__ __forceinline__ void Finish(const Sums& sums, const Biases& biases) {
#pragma unroll
    for (int m = 0; m < kAccumulators; ++m) {
#pragma unroll
      for (int first = 0; first < kPixels; first += kPiecePixels) {
        const int ring = 8 * (kGroup * kPiecesOfGroup + piece_.buffer);
        rings_.AwaitPiece<kResidual>(ring, piece_.parity);
        const uint32_t to =
            rings_.pieces + (kGroup * p_.pieces + piece_.buffer) * kBoxes<T> * kPieceBytes;
        float mine[kPiecePixels / 2];
#pragma unroll
        for (int i = 0; i < kPiecePixels / 2; ++i) mine[i] = sums[m][first / 2 + i];
        if constexpr (sizeof(T) == 2) {
          WriteHalves(mine, biases[m], to);
        } else {
          WriteFloats(mine, biases[m], to);
        }
        rings_.HandOverPiece(ring, lane_);
        piece_.Next(p_.pieces);
      }
    }
  }

  // Writes the warp's sixteen filters of a piece; makes channels innermost again.
  __device__ __forceinline__ void WriteHalves(const float (&sums)[kPiecePixels / 2],
                                              const float (&biases)[2], uint32_t to) const {
    // Address of the lane's row of four 8 × 8 matrices: two of filters × two of pixels.
    const int row = lane_ & 7, matrix = lane_ >> 3;
    const int unit = warp_ * 2 + (matrix & 1), pixel = (matrix >> 1) * 8 + row;
    const uint32_t first = to + pixel * kRowBytes + ((unit ^ row) << 4);
#pragma unroll
    for (int j = 0; j < kPiecePixels / 8; j += 2) {
      const uint32_t at = first + j * 8 * kRowBytes;
      uint32_t residual[4] = {}, result[4];
      if (kResidual) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(residual[0]), "=r"(residual[1]), "=r"(residual[2]), "=r"(residual[3])
                     : "r"(at)
                     : "memory");
      }
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        float low = sums[4 * j + 2 * q] + biases[q & 1];
        float high = sums[4 * j + 2 * q + 1] + biases[q & 1];
        if (kResidual) {
          const float2 add = Unpack(T(), residual[q]);
          low += add.x;
          high += add.y;
        }
        if constexpr (kEnding == Ending::kGelu) {
          low = GeluForHalves(low);
          high = GeluForHalves(high);
        }
        result[q] = p_.has_relu ? PackRelu(T(), low, high) : Pack(T(), low, high);
      }
      asm volatile(
          "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
          "r"(result[0]), "r"(result[1]), "r"(result[2]), "r"(result[3])
          : "memory");
    }
  }

  // The same for f32: each lane writes at the positions of its own sums, in 32 different banks per
  // warp.
  __device__ __forceinline__ void WriteFloats(const float (&sums)[kPiecePixels / 2],
                                              const float (&biases)[2], uint32_t to) const {
    const int filter = (warp_ & 1) * 16 + (lane_ >> 2);  // within a box, for the lower half
    const uint32_t box = to + (warp_ >> 1) * kPieceBytes + (filter & 3) * 4;
#pragma unroll
    for (int i = 0; i < kPiecePixels / 2; ++i) {
      const int half = i >> 1 & 1;
      const int row = (lane_ & 3) * 2 + (i & 1);  // among eight pixels
      const uint32_t at =
          box + ((i >> 2) * 8 + row) * kRowBytes + ((((filter >> 2) + 2 * half) ^ row) << 4);
      float sum = sums[i] + biases[half];
      if (kResidual) {
        float add;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(add) : "r"(at) : "memory");
        sum += add;
      }
      if (p_.has_relu) sum = sum < 0 ? 0 : sum;  // NaN is kept
      asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(sum) : "memory");
    }
  }

  const ConvGemmParameters& p_;
  const Rings& rings_;
  const int warp_, lane_;
  PipelineState slice_, piece_;
};

// The pieces of a warpgroup in a tile, in the order in which they are written.
template <typename T, int kAccumulators, int kPixels, bool kPingPong>
struct Pieces {
  static constexpr int kCount = kAccumulators * (kPixels / kPiecePixels);
  __device__ static int FilterOf(const Tile& tile, int group, int piece) {
    return tile.filters * kTileFilters<kAccumulators, kPingPong> + (kPingPong ? 0 : group * kRows) +
           piece / (kPixels / kPiecePixels) * kRows;
  }
  __device__ static int PixelOf(const Tile& tile, int piece) {
    return tile.pixels * kPixels + piece % (kPixels / kPiecePixels) * kPiecePixels;
  }
};

// Loads the residuals of both warpgroups, in the order in which they need them.
template <typename T, int kAccumulators, int kPixels, bool kPingPong>
__device__ __forceinline__ void BringResiduals(const ConvGemmParameters& p, const Rings& rings) {
  using Of = Pieces<T, kAccumulators, kPixels, kPingPong>;
  const BlockTiles own;
  PipelineState states[2];
  int next = 0;  // in ping-pong: the warpgroup that has the next tile
  for (int t = own.first; t < p.tiles; t += own.step, next ^= 1) {
    const Tile tile(p, t);
    for (int piece = 0; piece < Of::kCount; ++piece) {
#pragma unroll
      for (int group = 0; group < 2; ++group) {
        if (kPingPong && group != next) continue;
        PipelineState& state = states[group];
        const int ring = 8 * (group * kPiecesOfGroup + state.buffer);
        const uint32_t to =
            rings.pieces + (group * p.pieces + state.buffer) * kBoxes<T> * kPieceBytes;
        BarrierWait(rings.stored + ring, state.parity ^ 1);
        BarrierExpect(rings.residual + ring, kBoxes<T> * kPieceBytes);
        for (int box = 0; box < kBoxes<T>; ++box) {
          LoadBox(to + box * kPieceBytes, p.residual, rings.residual + ring,
                  Of::FilterOf(tile, group, piece) + box * kChannels<T>, Of::PixelOf(tile, piece),
                  0);
        }
        state.Next(p.pieces);
      }
    }
  }
}

// Stores the results of a warpgroup.
template <typename T, int kAccumulators, int kPixels, bool kPingPong, int kGroup>
__device__ __forceinline__ void StoreResults(const ConvGemmParameters& p, const Rings& rings) {
  using Of = Pieces<T, kAccumulators, kPixels, kPingPong>;
  const GroupTiles<kPingPong, kGroup> own;
  PipelineState state;
  for (int t = own.first; t < p.tiles; t += own.step) {
    const Tile tile(p, t);
    for (int piece = 0; piece < Of::kCount; ++piece) {
      const int ring = 8 * (kGroup * kPiecesOfGroup + state.buffer);
      const uint32_t from =
          rings.pieces + (kGroup * p.pieces + state.buffer) * kBoxes<T> * kPieceBytes;
      BarrierWait(rings.done + ring, state.parity);
      for (int box = 0; box < kBoxes<T>; ++box) {
        StoreBox(p.result, from + box * kPieceBytes,
                 Of::FilterOf(tile, kGroup, piece) + box * kChannels<T>, Of::PixelOf(tile, piece));
      }
      StoresHaveRead();
      BarrierArrive(rings.stored + ring);
      state.Next(p.pieces);
    }
  }
  StoresAreDone();
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <typename T, int kAccumulators, int kPixels, bool kPingPong, Ending kEnding>
__global__ void __launch_bounds__(kThreads, 1)
    ConvGemmWide([[maybe_unused]] const __grid_constant__ ConvGemmParameters p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr int kFilters = kTileFilters<kAccumulators, kPingPong>;
  constexpr int kReaders = kGroupWarps * (kPingPong ? 1 : 2);
  extern __shared__ char dynamic[];
  __shared__ __align__(8) uint64_t barrier_words[kBarriers];
  const Rings rings(p, SharedAddress(barrier_words), SharedAddress(dynamic), kPixels * kRowBytes,
                    kFilters * kRowBytes);
  RunJobs(
      p, rings, kReaders, /*writers=*/kGroupWarps,
      [&](int warp) {
        if (warp == 0) BringSlices<T, kPixels, kFilters>(p, rings);
        if (warp == 1) StoreResults<T, kAccumulators, kPixels, kPingPong, 0>(p, rings);
        if (warp == 2) StoreResults<T, kAccumulators, kPixels, kPingPong, 1>(p, rings);
        if (kEnding == Ending::kResidual && warp == 3) {
          BringResiduals<T, kAccumulators, kPixels, kPingPong>(p, rings);
        }
      },
      [&](auto group) {
        constexpr int kGroup = decltype(group)::value;
        Multiplier<T, kAccumulators, kPixels, kPingPong, kEnding, kGroup>(p, rings).Run();
      });
#endif
}

template <typename T, int kAccumulators, int kPixels, bool kPingPong>
KernelCall Call(const ConvGemmForm& form, const ConvGemmParameters& parameters, int blocks) {
  const LaunchShape shape = ShapeOf(blocks);
  const auto call = [&](auto ending) {
    constexpr Ending kEnding = decltype(ending)::value;
    return KernelCall::Of(ConvGemmWide<T, kAccumulators, kPixels, kPingPong, kEnding>, shape,
                          parameters);
  };
  if constexpr (sizeof(T) == 2) {
    if (form.has_gelu) return call(std::integral_constant<Ending, Ending::kGelu>());
  }
  return form.has_residual ? call(std::integral_constant<Ending, Ending::kResidual>())
                           : call(std::integral_constant<Ending, Ending::kPlain>());
}

template <typename T>
KernelCall Call(const ConvGemmForm& form, const ConvGemmParameters& parameters, int blocks) {
  if (form.ping_pong) {
    return form.filters == 64 ? Call<T, 1, 256, true>(form, parameters, blocks)
                              : Call<T, 2, 128, true>(form, parameters, blocks);
  }
  return form.pixels == 192 ? Call<T, 1, 192, false>(form, parameters, blocks)
                            : Call<T, 1, 256, false>(form, parameters, blocks);
}

}  // namespace

KernelCall ConvGemmWideCall(const ConvGemmForm& form, const ConvGemmParameters& parameters,
                            int blocks) {
  if (form.dtype == DType::kF32) return Call<float>(form, parameters, blocks);
  return form.dtype == DType::kF16 ? Call<__half>(form, parameters, blocks)
                                   : Call<__nv_bfloat16>(form, parameters, blocks);
}

}  // namespace onnx_cudnn
