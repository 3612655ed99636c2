// Attention of one head in tiles of 64 or 128 keys, by wgmma with online softmax:
//   s[i,j] = Σ_c q[i,c] · k[j,c] · scale + mask[i,j],  y[i] = Σ_j exp(s[i,j] − m_i) · v[j] / sum_i
// in f32; weights are rounded to the type for the second product. One warp brings q, then k and v
// tile by tile by TMA; each further warpgroup has 64 queries, whose scores, weights and sums stay
// in registers. A query that sees no key gives zeros. The order of all sums is fixed.
//
// Barriers per stage of the ring of tiles:
//   full_k, full_v    the tile has arrived; full_k of the first tile also covers q, and each full_k
//                     covers a mask's row
//   empty_k, empty_v  signalled by each warp that has read it
#include "runtime/kernels/cuda/attention/flash_attention.cuh"

#include <limits>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/wgmma.cuh"

namespace onnx_cudnn {

using namespace flash_attention;  // NOLINT(google-build-using-namespace): its other half

namespace {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// The largest or the sum over the four lanes that share a row.
__device__ __forceinline__ float LargestOfRow(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0U, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0U, x, 2));
}
__device__ __forceinline__ float SumOfRow(float x) {
  x += __shfl_xor_sync(~0U, x, 1);
  return x + __shfl_xor_sync(~0U, x, 2);
}

// A warpgroup's 64 queries. A thread has rows l / 4 and that plus 8 of its warp's 16.
template <typename T, int kBoxes, FlashMask kMask>
class Queries {
 public:
  __device__ __forceinline__ Queries(const FlashParameters& p, const Block<kBoxes>& block)
      : p_(p), block_(block), lane_(static_cast<int>(threadIdx.x) % kWarp) {
    const int warp = __shfl_sync(~0U, static_cast<int>(threadIdx.x) / kWarp, 0);
    const int group = warp / kGroupWarps;
    own_row_ = warp % kGroupWarps * 16;
    q_ = block.q + group * kBoxes * kQueryBoxBytes;
    name_ = 1 + group;
    query_ = block.first_query + group * kFlashQueries + own_row_ + lane_ / 4;
    mask_before_ = block.batch * p.mask_batch + block.head * p.mask_head;
  }

  __device__ __forceinline__ void Run() {
    PipelineState at;
    for (int tile = 0; tile < block_.tiles; ++tile) {
      float scores[kScores];
      BarrierWait(block_.full_k + 8 * at.buffer, at.parity);
      Score(scores, at.buffer);
      WeighTile(scores, tile * kKeys, at.buffer);
      if (lane_ == 0) BarrierArrive(block_.empty_k + 8 * at.buffer);
      BarrierWait(block_.full_v + 8 * at.buffer, at.parity);
      AddValues(scores, tile, at.buffer);
      if (lane_ == 0) BarrierArrive(block_.empty_v + 8 * at.buffer);
      at.Next(p_.stages);
    }
    Finish();
  }

 private:
  static constexpr int kKeys = Block<kBoxes>::kKeys, kKeyBoxBytes = Block<kBoxes>::kKeyBoxBytes;
  static constexpr int kSteps = kKeys / 16;  // along keys, per tile
  // Of a thread. The sums of 128 channels at most are one product's.
  static constexpr int kScores = kKeys / 2, kSums = (kBoxes < 2 ? 1 : 2) * kFlashChannels / 2;
  static constexpr int kProducts = (kBoxes + 1) / 2;

  __device__ __forceinline__ void Score(float (&scores)[kScores], int stage) const {
    const uint32_t k = block_.k + stage * kBoxes * kKeyBoxBytes;
    Pin(scores);
    WgmmaFence();
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
#pragma unroll
      for (int step = 0; step < kFlashRowBytes; step += kStepBytes) {
        Wgmma(T(), scores, SwizzledOperand(q_ + box * kQueryBoxBytes + step),
              SwizzledOperand(k + box * kKeyBoxBytes + step), box > 0 || step > 0);
      }
    }
    WgmmaCommit();
    WgmmaWait<0>(scores);
  }

  // Scores become weights; earlier sums are scaled to the new largest scores.
  __device__ __forceinline__ void WeighTile(float (&scores)[kScores], int first_key, int stage) {
    const int first_column = first_key + 2 * (lane_ % 4);
    AddMask(scores, first_key, stage);
    const bool cuts =
        first_key + kKeys > p_.keys || (p_.is_causal && first_key + kKeys > query_ - lane_ / 4 + 1);
    if (cuts) {
#pragma unroll
      for (int i = 0; i < kScores; ++i) {
        const int key = first_column + i / 4 * 8 + i % 2, query = query_ + i / 2 % 2 * 8;
        const bool is_seen = key < p_.keys && (!p_.is_causal || key <= query);
        if (!is_seen) scores[i] = -std::numeric_limits<float>::infinity();
      }
    }
    // Without a mask, scores are still to be scaled.
    const float scale = kMask == FlashMask::kNone ? p_.scale : 1.0F;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float largest = largest_[h];
#pragma unroll
      for (int i = 2 * h; i < kScores; i += 4) {
        largest = fmaxf(largest, fmaxf(scores[i], scores[i + 1]));
      }
      largest = LargestOfRow(largest);
      const bool is_empty = largest == -std::numeric_limits<float>::infinity();
      const float base = is_empty ? 0.0F : largest * scale;
      factor_[h] = Exp2(largest_[h] * scale - base);
      largest_[h] = largest;
      float sum = 0;
#pragma unroll
      for (int i = 2 * h; i < kScores; i += 4) {
        scores[i] = Exp2(scores[i] * scale - base);
        scores[i + 1] = Exp2(scores[i + 1] * scale - base);
        sum += scores[i] + scores[i + 1];
      }
      sum_[h] = sum_[h] * factor_[h] + sum;
    }
  }

  // Scales scores and adds the mask.
  __device__ __forceinline__ void AddMask(float (&scores)[kScores], int first_key,
                                          int stage) const {
    if constexpr (kMask == FlashMask::kRow) {
      const uint32_t row = block_.mask + 4 * (stage * kKeys + 2 * (lane_ % 4));
#pragma unroll
      for (int i = 0; i < kScores; i += 4) {
        float low, high;
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(low), "=f"(high) : "r"(row + 8 * i));
        scores[i] = scores[i] * p_.scale + low;
        scores[i + 1] = scores[i + 1] * p_.scale + high;
        scores[i + 2] = scores[i + 2] * p_.scale + low;
        scores[i + 3] = scores[i + 3] * p_.scale + high;
      }
    }
    if constexpr (kMask == FlashMask::kFull) {
      if (p_.mask_is_f32) {
        AddRows<float>(scores, first_key);
      } else {
        AddRows<T>(scores, first_key);
      }
    }
  }

  // The same for a row of numbers, or one number, per query.
  template <typename E>
  __device__ __forceinline__ void AddRows(float (&scores)[kScores], int first_key) const {
    const int column = first_key + 2 * (lane_ % 4);
    const E* rows[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      rows[h] = static_cast<const E*>(p_.mask) + mask_before_ +
                min(query_ + 8 * h, p_.queries - 1) * p_.mask_query + column * p_.mask_key;
    }
    if (p_.mask_key == 0) {
      const float numbers[2] = {MaskNumber(ToFloat(*rows[0])), MaskNumber(ToFloat(*rows[1]))};
#pragma unroll
      for (int i = 0; i < kScores; ++i) {
        scores[i] = scores[i] * p_.scale + numbers[i / 2 % 2];
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      if (i % kMaskLoads == 0) asm volatile("" ::: "memory");
      const int at = i / 4 * 8 + i % 2;
      const float number = column + at < p_.keys ? ToFloat(rows[i / 2 % 2][at]) : 0.0F;
      scores[i] = scores[i] * p_.scale + MaskNumber(number);
    }
  }

  __device__ __forceinline__ void AddValues(const float (&weights)[kScores], int tile, int stage) {
    uint4 packed[kSteps];
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      packed[i] = {Pack(T(), weights[8 * i], weights[8 * i + 1]),
                   Pack(T(), weights[8 * i + 2], weights[8 * i + 3]),
                   Pack(T(), weights[8 * i + 4], weights[8 * i + 5]),
                   Pack(T(), weights[8 * i + 6], weights[8 * i + 7])};
    }
    if (tile > 0) {
#pragma unroll
      for (int i = 0; i < kProducts * kSums; ++i) {
        sums_[i / kSums][i % kSums] *= factor_[i / 2 % 2];
      }
    }
    const uint32_t v = block_.v + stage * kBoxes * kKeyBoxBytes;
#pragma unroll
    for (auto& sums : sums_) Pin(sums);
    WgmmaFence();
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
#pragma unroll
      for (int part = 0; part < kProducts; ++part) {
        WgmmaTransposed(
            T(), sums_[part], packed[i],
            TransposedOperand(v + 2 * part * kKeyBoxBytes + i * 16 * kFlashRowBytes, kKeyBoxBytes),
            i > 0 || tile > 0);
      }
    }
    WgmmaCommit();
#pragma unroll
    for (auto& sums : sums_) WgmmaWait<0>(sums);
  }

  // Divides, and writes rows through the shared memory of q.
  __device__ __forceinline__ void Finish() {
    float factors[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float sum = SumOfRow(sum_[h]);
      factors[h] = sum == 0 ? 0.0F : 1 / sum;
    }
    NamedSync(name_, kGroup);  // no product of the group reads q any more
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
      const uint32_t rows = q_ + box * kQueryBoxBytes + own_row_ * kFlashRowBytes;
      const int row = lane_ & 7, matrix = lane_ >> 3;
      const uint32_t first =
          rows + ((matrix & 1) * 8 + row) * kFlashRowBytes + (((matrix >> 1) ^ row) << 4);
#pragma unroll
      for (int j = 0; j < kFlashChannels / 8; j += 2) {
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* at = sums_[box / 2] + box % 2 * kFlashChannels / 2 + 4 * j + 2 * i;
          words[i] = Pack(T(), at[0] * factors[i % 2], at[1] * factors[i % 2]);
        }
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         first ^ j << 4),
                     "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                     : "memory");
      }
    }
    __syncwarp();
    Write();
  }

  // Each lane writes 16 bytes of a row at once.
  __device__ __forceinline__ void Write() const {
    T* y = static_cast<T*>(p_.y) + block_.batch * p_.y_batch + block_.head * p_.y_head;
    const int first = query_ - lane_ / 4, unit = lane_ & 7;
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = i * 4 + lane_ / 8, column = box * kFlashChannels + unit * 8;
        if (first + row >= p_.queries || column >= p_.columns) continue;
        const uint32_t from = q_ + box * kQueryBoxBytes + (own_row_ + row) * kFlashRowBytes +
                              ((unit ^ (row & 7)) << 4);
        uint4 words;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                     : "r"(from)
                     : "memory");
        *reinterpret_cast<uint4*>(y + (first + row) * p_.y_row + column) = words;
      }
    }
  }

  const FlashParameters& p_;
  const Block<kBoxes>& block_;
  const int lane_;
  int own_row_, name_, query_;  // the warp's first row in its group, a barrier, the thread's query
  uint32_t q_;
  int64_t mask_before_;
  float sums_[kProducts][kSums];
  float largest_[2] = {-std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity()};
  float sum_[2] = {0, 0};
  float factor_[2];
};

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <typename T, int kBoxes, FlashMask kMask>
__global__ void __launch_bounds__(MostThreads(kBoxes), 1)
    FlashAttention([[maybe_unused]] const __grid_constant__ FlashParameters p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char dynamic[];
  __shared__ __align__(8) uint64_t barriers[4 * kFlashMostStages];
  LetNextStart(p.next_uses_pdl);
  const int thread = static_cast<int>(threadIdx.x);
  const int groups = (static_cast<int>(blockDim.x) - BringingThreads(kBoxes)) / kGroup;
  const Block<kBoxes> block(p, SharedAddress(barriers), SharedAddress(dynamic), groups);
  if (thread == 0) {
    for (int i = 0; i < kFlashMostStages; ++i) {
      BarrierInit(block.full_k + 8 * i, kMask == FlashMask::kRow ? 2 : 1);
      BarrierInit(block.full_v + 8 * i, 1);
      BarrierInit(block.empty_k + 8 * i, groups * kGroupWarps);
      BarrierInit(block.empty_v + 8 * i, groups * kGroupWarps);
    }
    BarrierInitFence();
  }
  __syncthreads();
  WaitForLaunchBefore();
  if (thread >= groups * kGroup) {
    if constexpr (kBoxes > 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (thread < groups * kGroup + kWarp) BringTiles<T, kBoxes, kMask>(p, block, groups);
  } else {
    if constexpr (kBoxes > 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    Queries<T, kBoxes, kMask>(p, block).Run();
  }
#endif
}

template <typename T, int kBoxes>
KernelCall Call(const FlashForm& form, const LaunchShape& shape, const FlashParameters& p) {
  switch (form.mask) {
    case FlashMask::kNone:
      return KernelCall::Of(FlashAttention<T, kBoxes, FlashMask::kNone>, shape, p);
    case FlashMask::kRow:
      return KernelCall::Of(FlashAttention<T, kBoxes, FlashMask::kRow>, shape, p);
    case FlashMask::kFull:
      break;
  }
  return KernelCall::Of(FlashAttention<T, kBoxes, FlashMask::kFull>, shape, p);
}

template <typename T>
KernelCall Call(const FlashForm& form, const LaunchShape& shape, const FlashParameters& p) {
  if (form.boxes == 1) return Call<T, 1>(form, shape, p);
  return form.boxes == 2 ? Call<T, 2>(form, shape, p) : Call<T, 4>(form, shape, p);
}

}  // namespace

int FlashSharedBytes(int boxes, int groups, int stages) {
  const int tile_bytes =
      2 * boxes * KeyBoxBytes(boxes) + FlashKeys(boxes) * static_cast<int>(sizeof(float));
  return kAlignment + groups * boxes * kQueryBoxBytes + stages * tile_bytes;
}

KernelCall FlashAttentionCall(const FlashForm& form, const FlashParameters& parameters) {
  const LaunchShape shape{
      .grid = {static_cast<unsigned>(form.tiles), static_cast<unsigned>(form.heads),
               static_cast<unsigned>(form.batch)},
      .block = {static_cast<unsigned>(form.groups * kGroup + BringingThreads(form.boxes))},
      .shared_bytes = FlashSharedBytes(form.boxes, form.groups, parameters.stages)};
  return form.dtype == DType::kF16 ? Call<__half>(form, shape, parameters)
                                   : Call<__nv_bfloat16>(form, shape, parameters);
}

}  // namespace onnx_cudnn
