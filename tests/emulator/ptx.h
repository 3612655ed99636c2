// Host implementations of the chip's instructions that kernels write in asm, named by their
// opcodes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tests/emulator/emulator.h"
#include "tests/emulator/tensor_map.h"

namespace onnx_cudnn::emulator::ptx {

inline float OrNaN(float a, float b, float otherwise) {
  return a != a || b != b ? std::nanf("") : otherwise;
}
inline void max_NaN_f32(float& d, float a, float b) { d = OrNaN(a, b, std::fmax(a, b)); }
inline void min_NaN_f32(float& d, float a, float b) { d = OrNaN(a, b, std::fmin(a, b)); }

// d: the first source in its high half.
template <typename T>
uint32_t PackHalves(T high, T low) {
  uint16_t halves[2];
  std::memcpy(&halves[0], &low, 2);
  std::memcpy(&halves[1], &high, 2);
  return static_cast<uint32_t>(halves[1]) << 16 | halves[0];
}
inline float Positive(float x) { return x < 0 ? 0.0F : x; }
inline void ex2_approx_ftz_f32(float& d, float x) { d = std::exp2(x); }
inline void rcp_approx_ftz_f32(float& d, float x) { d = 1.0F / x; }
inline void cvt_rn_f16x2_f32(uint32_t& d, float high, float low) {
  d = PackHalves(__float2half_rn(high), __float2half_rn(low));
}
inline void cvt_rn_bf16x2_f32(uint32_t& d, float high, float low) {
  d = PackHalves(__float2bfloat16_rn(high), __float2bfloat16_rn(low));
}
// Rounds a finite f32 to 10 mantissa bits, ties away from zero.
inline void cvt_rna_tf32_f32(uint32_t& d, float x) { d = (BitsOfValue(x) + 0x1000) & ~0x1fffu; }
inline void cvt_rn_relu_f16x2_f32(uint32_t& d, float high, float low) {
  cvt_rn_f16x2_f32(d, Positive(high), Positive(low));
}
inline void cvt_rn_relu_bf16x2_f32(uint32_t& d, float high, float low) {
  cvt_rn_bf16x2_f32(d, Positive(high), Positive(low));
}

// Loads from and stores to shared memory.
template <typename... Words>
void LoadShared(uint32_t from, Words&... words) {
  ((std::memcpy(&words, AtShared(from), sizeof(words)), from += sizeof(words)), ...);
}
template <typename... Words>
void StoreShared(uint32_t to, const Words&... words) {
  ((std::memcpy(AtShared(to), &words, sizeof(words)), to += sizeof(words)), ...);
}
inline void ld_shared_b32(uint32_t& d, uint32_t from) { LoadShared(from, d); }
inline void ld_shared_v2_b32(uint32_t& a, uint32_t& b, uint32_t from) { LoadShared(from, a, b); }
inline void ld_shared_f32(float& d, uint32_t from) { LoadShared(from, d); }
inline void ld_shared_v2_f32(float& a, float& b, uint32_t from) { LoadShared(from, a, b); }
inline void ld_shared_v4_f32(float& a, float& b, float& c, float& d, uint32_t from) {
  LoadShared(from, a, b, c, d);
}
inline void ld_shared_u32(uint32_t& d, uint32_t from) { LoadShared(from, d); }
inline void ld_shared_v2_u32(uint32_t& a, uint32_t& b, uint32_t from) { LoadShared(from, a, b); }
inline void ld_shared_v4_u32(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d, uint32_t from) {
  LoadShared(from, a, b, c, d);
}
inline void st_shared_b32(uint32_t to, uint32_t a) { StoreShared(to, a); }
inline void st_shared_f32(uint32_t to, float a) { StoreShared(to, a); }
inline void st_shared_v2_f32(uint32_t to, float a, float b) { StoreShared(to, a, b); }
inline void st_shared_v4_b32(uint32_t to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  StoreShared(to, a, b, c, d);
}

// 8 × 8 matrices of 16-bit elements, transposed: lane 8 i + r gives the address of row r of matrix
// i, and receives the elements (2 (lane % 4) and the next, lane / 4).
inline uint32_t AddressOfRow(int matrix, int row, const uint64_t* addresses) {
  return static_cast<uint32_t>(addresses[8 * matrix + row]);
}
inline uint32_t LoadTransposed(int matrix, const uint64_t* addresses) {
  const int lane = Lane();
  uint16_t pair[2];
  for (int e = 0; e < 2; ++e) {
    const uint32_t row = AddressOfRow(matrix, lane % 4 * 2 + e, addresses);
    std::memcpy(&pair[e], AtShared(row + lane / 4 * 2), 2);
  }
  return static_cast<uint32_t>(pair[1]) << 16 | pair[0];
}
inline void StoreTransposed(int matrix, const uint64_t* addresses, uint32_t word) {
  const int lane = Lane();
  for (int e = 0; e < 2; ++e) {
    const auto element = static_cast<uint16_t>(word >> (16 * e));
    const uint32_t row = AddressOfRow(matrix, lane % 4 * 2 + e, addresses);
    std::memcpy(AtShared(row + lane / 4 * 2), &element, 2);
  }
}
inline void ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(uint32_t& a, uint32_t& b, uint32_t& c,
                                                           uint32_t& d, uint32_t row) {
  const uint64_t* rows = Exchange(~0u, row);
  a = LoadTransposed(0, rows), b = LoadTransposed(1, rows);
  c = LoadTransposed(2, rows), d = LoadTransposed(3, rows);
  Exchange(~0u, 0);
}
inline void ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16(uint32_t& a, uint32_t& b, uint32_t row) {
  const uint64_t* rows = Exchange(~0u, row);
  a = LoadTransposed(0, rows), b = LoadTransposed(1, rows);
  Exchange(~0u, 0);
}
inline void stmatrix_sync_aligned_m8n8_x4_trans_shared_b16(uint32_t row, uint32_t a, uint32_t b,
                                                           uint32_t c, uint32_t d) {
  const uint64_t* rows = Exchange(~0u, row);
  StoreTransposed(0, rows, a), StoreTransposed(1, rows, b);
  StoreTransposed(2, rows, c), StoreTransposed(3, rows, d);
  Exchange(~0u, 0);
}
inline void stmatrix_sync_aligned_m8n8_x2_trans_shared_b16(uint32_t row, uint32_t a, uint32_t b) {
  const uint64_t* rows = Exchange(~0u, row);
  StoreTransposed(0, rows, a), StoreTransposed(1, rows, b);
  Exchange(~0u, 0);
}

inline uint32_t LoadPlain(int matrix, const uint64_t* addresses) {
  const int lane = Lane();
  uint32_t word;
  std::memcpy(&word, AtShared(AddressOfRow(matrix, lane / 4, addresses) + lane % 4 * 4), 4);
  return word;
}
inline void StorePlain(int matrix, const uint64_t* addresses, uint32_t word) {
  const int lane = Lane();
  std::memcpy(AtShared(AddressOfRow(matrix, lane / 4, addresses) + lane % 4 * 4), &word, 4);
}
inline void stmatrix_sync_aligned_m8n8_x4_shared_b16(uint32_t row, uint32_t a, uint32_t b,
                                                     uint32_t c, uint32_t d) {
  const uint64_t* rows = Exchange(~0u, row);
  StorePlain(0, rows, a), StorePlain(1, rows, b), StorePlain(2, rows, c), StorePlain(3, rows, d);
  Exchange(~0u, 0);
}
inline void ldmatrix_sync_aligned_m8n8_x4_shared_b16(uint32_t& a, uint32_t& b, uint32_t& c,
                                                     uint32_t& d, uint32_t row) {
  const uint64_t* rows = Exchange(~0u, row);
  a = LoadPlain(0, rows), b = LoadPlain(1, rows), c = LoadPlain(2, rows), d = LoadPlain(3, rows);
  Exchange(~0u, 0);
}

// c[16, 8] += a[16, 16] × b[16, 8]. With g = lane / 4 and t = lane % 4, a lane holds: of a, rows g
// and g + 8 at columns 2t, 2t + 1 and those plus 8; of b, these as rows, column g; of c, rows g and
// g + 8 at columns 2t and 2t + 1.
template <typename T>
void MultiplyMatrices(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  const int g = Lane() / 4, t = Lane() % 4;
  const auto half = [](uint64_t word, int e) {
    return static_cast<float>(ValueOfBits<T>(static_cast<uint16_t>(word >> (16 * e))));
  };
  float rows[2][16], columns[2][16];
  for (int i = 0; i < 4; ++i) {
    const uint64_t* words = Exchange(~0u, a[i]);
    for (int k = 0; k < 8; ++k) rows[i % 2][i / 2 * 8 + k] = half(words[4 * g + k / 2], k % 2);
  }
  for (int i = 0; i < 2; ++i) {
    const uint64_t* words = Exchange(~0u, b[i]);
    for (int n = 0; n < 2; ++n) {
      for (int k = 0; k < 8; ++k) {
        columns[n][i * 8 + k] = half(words[4 * (2 * t + n) + k / 2], k % 2);
      }
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 16; ++k) c[i] += rows[i / 2][k] * columns[i % 2][k];
  }
  Exchange(~0u, 0);
}
inline void mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32(float& c0, float& c1, float& c2,
                                                              float& c3, uint32_t a0, uint32_t a1,
                                                              uint32_t a2, uint32_t a3, uint32_t b0,
                                                              uint32_t b1) {
  float c[4] = {c0, c1, c2, c3};
  MultiplyMatrices<__half>(c, {a0, a1, a2, a3}, {b0, b1});
  c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
}
inline void mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(float& c0, float& c1, float& c2,
                                                                float& c3, uint32_t a0, uint32_t a1,
                                                                uint32_t a2, uint32_t a3,
                                                                uint32_t b0, uint32_t b1) {
  float c[4] = {c0, c1, c2, c3};
  MultiplyMatrices<__nv_bfloat16>(c, {a0, a1, a2, a3}, {b0, b1});
  c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
}

// mbarrier: its 64-bit word.
struct PhaseBarrier {
  int32_t bytes;  // bytes still expected
  uint8_t phase, count, pending;
  uint8_t is_made;  // 1; shared memory is initialized with other bytes

  static PhaseBarrier* At(uint32_t address) {
    auto* barrier = reinterpret_cast<PhaseBarrier*>(AtShared(address));
    if (barrier->is_made != 1) Fail("a barrier that nobody has made yet");
    return barrier;
  }
  const std::byte* key() const { return reinterpret_cast<const std::byte*>(this); }
  // Begins the next phase once all have arrived.
  void AdvancePhase() {
    if (pending != 0 || bytes != 0) return;
    phase ^= 1;
    pending = count;
  }
  void Complete(int arrived) {
    bytes -= arrived;
    AdvancePhase();
  }
};
static_assert(sizeof(PhaseBarrier) == 8);

inline void mbarrier_init_shared_cta_b64(uint32_t barrier, int count) {
  const PhaseBarrier made = {0, 0, static_cast<uint8_t>(count), static_cast<uint8_t>(count), 1};
  std::memcpy(AtShared(barrier), &made, sizeof(made));
}
inline void fence_mbarrier_init_release_cluster() {}
inline void mbarrier_arrive_shared_cta_b64(uint32_t barrier) {
  PhaseBarrier* b = PhaseBarrier::At(barrier);
  if (b->pending == 0) Fail("an arrival too many at a barrier");
  --b->pending;
  b->AdvancePhase();
}
inline void mbarrier_arrive_expect_tx_shared_cta_b64(uint32_t barrier, int bytes) {
  PhaseBarrier::At(barrier)->bytes += bytes;
  mbarrier_arrive_shared_cta_b64(barrier);
}
inline void mbarrier_try_wait_parity_shared_cta_b64(uint32_t barrier, uint32_t parity) {
  struct Wait {
    const PhaseBarrier* barrier;
    uint32_t parity;
  };
  const Wait wait = {PhaseBarrier::At(barrier), parity};
  WaitForLoads(
      wait.barrier->key(),
      [](const void* context) {
        const auto* w = static_cast<const Wait*>(context);
        return w->barrier->phase != w->parity;
      },
      &wait);
}
inline void mbarrier_try_wait_parity_acquire_cluster_shared_cta_b64(uint32_t barrier,
                                                                    uint32_t parity) {
  mbarrier_try_wait_parity_shared_cta_b64(barrier, parity);
}

// Between the blocks of a cluster.
inline void st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v4_f32(uint32_t to, float a,
                                                                           float b, float c,
                                                                           float d,
                                                                           uint32_t barrier) {
  PhaseBarrier* const counts = PhaseBarrier::At(barrier);
  std::byte* const there = AtShared(to);
  std::memset(there, 0xff, 16);
  StartLoad(counts->key(), [=] {
    const float sent[4] = {a, b, c, d};
    std::memcpy(there, sent, sizeof(sent));
    counts->Complete(sizeof(sent));
  });
}

inline void bar_sync(int name, int threads) { NamedBarrier(name, threads, /*waits=*/true); }
inline void bar_arrive(int name, int threads) { NamedBarrier(name, threads, /*waits=*/false); }

// Rounds a finite f32 to 10 mantissa bits, ties to even.
inline void RoundToTf32(std::byte* element) {
  uint32_t bits;
  std::memcpy(&bits, element, sizeof(bits));
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
  std::memcpy(element, &bits, sizeof(bits));
}
// Tiled boxes: copy(move) calls move as EncodedMap::Copy does, and returns the box's bytes.
template <typename CopyBox>
void LoadBoxOf(const EncodedMap& map, uint32_t to, uint32_t barrier, CopyBox copy) {
  PhaseBarrier* const counts = PhaseBarrier::At(barrier);
  copy([&](uint32_t offset, std::byte*, int size) {
    std::memset(AtShared(map.Swizzled(to + offset)), 0xff, size);
  });
  StartLoad(counts->key(), [map, to, copy, counts, shared = AtShared(0)] {
    const int64_t bytes = copy([&](uint32_t offset, std::byte* element, int size) {
      std::byte* const there = shared + map.Swizzled(to + offset);
      if (element == nullptr) {
        std::memset(there, 0, size);
        return;
      }
      std::memcpy(there, element, size);
      if (map.rounds_to_tf32) RoundToTf32(there);
    });
    counts->Complete(static_cast<int>(bytes));
  });
}
struct BoxAt {
  EncodedMap map;
  int at[5];
  template <typename Move>
  int64_t operator()(Move move) const {
    return map.Copy(at, move);
  }
};
inline void LoadBoxOf(uint32_t to, const void* address, uint32_t barrier, const BoxAt& box) {
  if (MapOf(address).uses_im2col) Fail("a tiled load from an im2col map");
  LoadBoxOf(box.map, to, barrier, box);
}
inline void StoreBoxOf(uint32_t from, const BoxAt& box) {
  StartStore(
      [=] {
        std::vector<std::byte> bytes;
        box([&](uint32_t offset, std::byte*, int size) {
          const std::byte* there = AtShared(box.map.Swizzled(from + offset));
          bytes.insert(bytes.end(), there, there + size);
        });
        return bytes;
      },
      [=](const std::vector<std::byte>& bytes) {
        box([&](uint32_t offset, std::byte* element, int size) {
          if (element != nullptr) std::memcpy(element, &bytes[offset], size);
        });
      });
}
inline void cp_async_bulk_tensor_3d_shared_cluster_global_mbarrier_complete_tx_bytes(
    uint32_t to, const void* map, uint32_t barrier, int x, int y, int z) {
  LoadBoxOf(to, map, barrier, {MapOf(map), {x, y, z}});
}
inline void cp_async_bulk_tensor_4d_shared_cluster_global_mbarrier_complete_tx_bytes(
    uint32_t to, const void* map, uint32_t barrier, int x, int y, int z, int n) {
  LoadBoxOf(to, map, barrier, {MapOf(map), {x, y, z, n}});
}
inline void cp_async_bulk_tensor_4d_shared_cluster_global_im2col_mbarrier_complete_tx_bytes(
    uint32_t to, const void* address, uint32_t barrier, int channel, int x, int y, int image,
    uint16_t column, uint16_t row) {
  const EncodedMap map = MapOf(address);
  if (!map.uses_im2col) Fail("an im2col load from a tiled map");
  if (!map.IsPlace(x, 0) || !map.IsPlace(y, 1)) Fail("a window that stands at no place of its map");
  LoadBoxOf(map, to, barrier, [=](auto move) {
    return map.CopyIm2col({channel, x, y, image}, column, row, move);
  });
}
inline void cp_async_bulk_tensor_2d_global_shared_cta_bulk_group(const void* map, uint32_t from,
                                                                 int x, int y) {
  StoreBoxOf(from, {MapOf(map), {x, y}});
}
inline void cp_async_bulk_tensor_4d_global_shared_cta_bulk_group(const void* map, uint32_t from,
                                                                 int x, int y, int z, int n) {
  StoreBoxOf(from, {MapOf(map), {x, y, z, n}});
}
inline void cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(uint32_t to,
                                                                           const void* from,
                                                                           int bytes,
                                                                           uint32_t barrier) {
  PhaseBarrier* const counts = PhaseBarrier::At(barrier);
  std::byte* const there = AtShared(to);
  std::memset(there, 0xff, bytes);
  StartLoad(counts->key(), [=] {
    std::memcpy(there, from, bytes);
    counts->Complete(bytes);
  });
}
inline void cp_async_bulk_commit_group() { CommitStores(); }
inline void cp_async_bulk_wait_group(int pending) { WaitForStores(pending, StorePart::kAll); }
inline void cp_async_bulk_wait_group_read(int pending) { WaitForStores(pending, StorePart::kRead); }
inline void fence_proxy_async_shared_cta() {}

// Global memory, between blocks.
template <typename Word>
void red_release_gpu_global_add_u64(Word* at, Word x) {
  *at += x;
}
template <typename Word>
void ld_acquire_gpu_global_u64(Word& d, const Word* from) {
  d = *from;
}

inline void prefetch_global_L2(const void*) {}
inline void griddepcontrol_launch_dependents() {}
inline void griddepcontrol_wait() { WaitForLaunchBefore(); }
inline void setmaxnreg_dec_sync_aligned_u32(int) {}
inline void setmaxnreg_inc_sync_aligned_u32(int) {}

// Copies to shared memory that a thread itself waits for. The larger of `a` and `b` is the number
// of bytes written, the smaller the number read.
inline void CopyAsync(uint32_t to, const void* from, int a, int b) {
  StartCopy(to, from, std::max(a, b), std::min(a, b));
}
inline void cp_async_cg_shared_global(uint32_t to, const void* from, int a) {
  CopyAsync(to, from, a, a);
}
inline void cp_async_cg_shared_global(uint32_t to, const void* from, int a, int b) {
  CopyAsync(to, from, a, b);
}
inline void cp_async_ca_shared_global(uint32_t to, const void* from, int a) {
  CopyAsync(to, from, a, a);
}
inline void cp_async_ca_shared_global(uint32_t to, const void* from, int a, int b) {
  CopyAsync(to, from, a, b);
}
inline void cp_async_commit_group() { CommitCopies(); }
inline void cp_async_wait_group(int pending) { WaitForCopies(pending); }
inline void cp_async_wait_all() { WaitForCopies(kNotCommitted); }

}  // namespace onnx_cudnn::emulator::ptx
