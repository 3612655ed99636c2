// wgmma, the matrix product of a warpgroup on sm_90a: d[64, N] += a[64, 16] × b[16, N], a in
// registers or shared memory, b in shared memory, sums in f32. For `float`, which means TF32, K is
// 8. A thread of warp w and lane l holds
//   d[4j + 2h + e]  of row 16w + l / 4 + 8h and column 8j + 2 (l % 4) + e
//   a: 8 elements   e of row 16w + l / 4 + 8 (e / 2 % 2) and column 2 (l % 4) + e % 2 + 8 (e / 4)
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace onnx_cudnn {

// The descriptor of an operand with K innermost in shared memory: rows of 128 bytes (64 values of
// 16 bits or 32 of TF32 along K), 128-byte swizzle, groups of eight rows 1,024 bytes apart. `at`:
// address of the first row, + 32 bytes per step of K.
__device__ __forceinline__ uint64_t SwizzledOperand(uint32_t at) {
  constexpr uint32_t kHigh = 1u << 30 | 1024 >> 4;
  return static_cast<uint64_t>(kHigh) << 32 | 1 << 16 | at >> 4;
}

// The descriptor of b with N innermost in shared memory: pieces of 64 columns of 16 bits, whose
// rows of 128 bytes are one step along K apart, 128-byte swizzle. `at`: address of the first row, +
// 2,048 bytes per step of 16 along K; `between`: bytes from one piece of 64 columns to the next.
__device__ __forceinline__ uint64_t TransposedOperand(uint32_t at, uint32_t between) {
  constexpr uint32_t kHigh = 1u << 30 | 1024 >> 4;
  return static_cast<uint64_t>(kHigh) << 32 | between >> 4 << 16 | at >> 4;
}

#define WGMMA_OUT4(i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define WGMMA_OUT16(i) WGMMA_OUT4(i), WGMMA_OUT4((i) + 4), WGMMA_OUT4((i) + 8), WGMMA_OUT4((i) + 12)
#define WGMMA_OUT32(i) WGMMA_OUT16(i), WGMMA_OUT16((i) + 16)
#define WGMMA_LIST_32                                            \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11"             \
  ", %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23" \
  ", %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_LIST_44 \
  WGMMA_LIST_32       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43"
#define WGMMA_LIST_48 WGMMA_LIST_44 ", %44, %45, %46, %47"
#define WGMMA_LIST_52 WGMMA_LIST_48 ", %48, %49, %50, %51"
#define WGMMA_LIST_56 WGMMA_LIST_52 ", %52, %53, %54, %55"
#define WGMMA_LIST_60 WGMMA_LIST_56 ", %56, %57, %58, %59"
#define WGMMA_LIST_64 WGMMA_LIST_60 ", %60, %61, %62, %63"
#define WGMMA_LIST_96                                            \
  WGMMA_LIST_64                                                  \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75" \
  ", %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87" \
  ", %88, %89, %90, %91, %92, %93, %94, %95"
#define WGMMA_LIST_128                                                       \
  WGMMA_LIST_96                                                              \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107"     \
  ", %108, %109, %110, %111"                                                 \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123" \
  ", %124, %125, %126, %127"

// b: a shared memory descriptor. accumulates == 0: d is overwritten.
#define WGMMA(element, type, n, count, a0, a1, a2, a3, b_, p_, ...)                            \
  __device__ __forceinline__ void Wgmma(element, float(&d)[count], const uint4& a, uint64_t b, \
                                        int accumulates) {                                     \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_                                        \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type         \
                 " {" WGMMA_LIST_##count "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b_            \
                                         ", p, 1, 1, 0;\n}"                                    \
                 : __VA_ARGS__                                                                 \
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b), "r"(accumulates));          \
  }
WGMMA(__half, "f16", 88, 44, "%44", "%45", "%46", "%47", "%48", "%49", WGMMA_OUT32(0),
      WGMMA_OUT4(32), WGMMA_OUT4(36), WGMMA_OUT4(40))
WGMMA(__nv_bfloat16, "bf16", 88, 44, "%44", "%45", "%46", "%47", "%48", "%49", WGMMA_OUT32(0),
      WGMMA_OUT4(32), WGMMA_OUT4(36), WGMMA_OUT4(40))
WGMMA(__half, "f16", 96, 48, "%48", "%49", "%50", "%51", "%52", "%53", WGMMA_OUT32(0),
      WGMMA_OUT16(32))
WGMMA(__nv_bfloat16, "bf16", 96, 48, "%48", "%49", "%50", "%51", "%52", "%53", WGMMA_OUT32(0),
      WGMMA_OUT16(32))
WGMMA(__half, "f16", 104, 52, "%52", "%53", "%54", "%55", "%56", "%57", WGMMA_OUT32(0),
      WGMMA_OUT16(32), WGMMA_OUT4(48))
WGMMA(__nv_bfloat16, "bf16", 104, 52, "%52", "%53", "%54", "%55", "%56", "%57", WGMMA_OUT32(0),
      WGMMA_OUT16(32), WGMMA_OUT4(48))
WGMMA(__half, "f16", 112, 56, "%56", "%57", "%58", "%59", "%60", "%61", WGMMA_OUT32(0),
      WGMMA_OUT16(32), WGMMA_OUT4(48), WGMMA_OUT4(52))
WGMMA(__nv_bfloat16, "bf16", 112, 56, "%56", "%57", "%58", "%59", "%60", "%61", WGMMA_OUT32(0),
      WGMMA_OUT16(32), WGMMA_OUT4(48), WGMMA_OUT4(52))
WGMMA(__half, "f16", 120, 60, "%60", "%61", "%62", "%63", "%64", "%65", WGMMA_OUT32(0),
      WGMMA_OUT16(32), WGMMA_OUT4(48), WGMMA_OUT4(52), WGMMA_OUT4(56))
WGMMA(__nv_bfloat16, "bf16", 120, 60, "%60", "%61", "%62", "%63", "%64", "%65", WGMMA_OUT32(0),
      WGMMA_OUT16(32), WGMMA_OUT4(48), WGMMA_OUT4(52), WGMMA_OUT4(56))
#undef WGMMA

// The same with b by a TransposedOperand.
#define WGMMA_TRANSPOSED(element, type, n, count, a0, a1, a2, a3, b_, p_, ...)               \
  __device__ __forceinline__ void WgmmaTransposed(element, float(&d)[count], const uint4& a, \
                                                  uint64_t b, int accumulates) {             \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_                                      \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type       \
                 " {" WGMMA_LIST_##count "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b_          \
                                         ", p, 1, 1, 1;\n}"                                  \
                 : __VA_ARGS__                                                               \
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b), "r"(accumulates));        \
  }
WGMMA_TRANSPOSED(__half, "f16", 64, 32, "%32", "%33", "%34", "%35", "%36", "%37", WGMMA_OUT32(0))
WGMMA_TRANSPOSED(__nv_bfloat16, "bf16", 64, 32, "%32", "%33", "%34", "%35", "%36", "%37",
                 WGMMA_OUT32(0))
WGMMA_TRANSPOSED(__half, "f16", 128, 64, "%64", "%65", "%66", "%67", "%68", "%69", WGMMA_OUT32(0),
                 WGMMA_OUT32(32))
WGMMA_TRANSPOSED(__nv_bfloat16, "bf16", 128, 64, "%64", "%65", "%66", "%67", "%68", "%69",
                 WGMMA_OUT32(0), WGMMA_OUT32(32))
#undef WGMMA_TRANSPOSED

// The same for TF32 (a: 4 elements, e of row 16w + l / 4 + 8 (e % 2) and column l % 4 + 4 (e / 2)).
__device__ __forceinline__ void Wgmma(float, float (&d)[56], const uint4& a, uint64_t b,
                                      int accumulates) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %61, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n112k8.f32.tf32.tf32 {" WGMMA_LIST_56
      "}, {%56, %57, %58, %59}, %60, p, 1, 1;\n}"
      : WGMMA_OUT32(0), WGMMA_OUT16(32), WGMMA_OUT4(48), WGMMA_OUT4(52)
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b), "r"(accumulates));
}

// The same with a in shared memory: a and b are descriptors. `types` includes the depth of K, which
// is 32 bytes; `tail` states that neither operand is transposed, for types with that option.
#define WGMMA_SHARED(element, types, tail, n, count, a_, b_, p_, ...)                       \
  __device__ __forceinline__ void Wgmma(element, float(&d)[count], uint64_t a, uint64_t b,  \
                                        int accumulates) {                                  \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_                                     \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n types " {" WGMMA_LIST_##count \
                 "}, " a_ ", " b_ ", p, 1, 1" tail ";\n}"                                   \
                 : __VA_ARGS__                                                              \
                 : "l"(a), "l"(b), "r"(accumulates));                                       \
  }
#define WGMMA_SHARED_OF_EACH(n, count, a_, b_, p_, ...)                                         \
  WGMMA_SHARED(__half, "k16.f32.f16.f16", ", 0, 0", n, count, a_, b_, p_, __VA_ARGS__)          \
  WGMMA_SHARED(__nv_bfloat16, "k16.f32.bf16.bf16", ", 0, 0", n, count, a_, b_, p_, __VA_ARGS__) \
  WGMMA_SHARED(float, "k8.f32.tf32.tf32", "", n, count, a_, b_, p_, __VA_ARGS__)
WGMMA_SHARED_OF_EACH(64, 32, "%32", "%33", "%34", WGMMA_OUT32(0))
WGMMA_SHARED_OF_EACH(128, 64, "%64", "%65", "%66", WGMMA_OUT32(0), WGMMA_OUT32(32))
WGMMA_SHARED_OF_EACH(192, 96, "%96", "%97", "%98", WGMMA_OUT32(0), WGMMA_OUT32(32), WGMMA_OUT32(64))
WGMMA_SHARED_OF_EACH(256, 128, "%128", "%129", "%130", WGMMA_OUT32(0), WGMMA_OUT32(32),
                     WGMMA_OUT32(64), WGMMA_OUT32(96))
#undef WGMMA_SHARED_OF_EACH
#undef WGMMA_SHARED
#undef WGMMA_LIST_128
#undef WGMMA_LIST_96
#undef WGMMA_LIST_64
#undef WGMMA_LIST_60
#undef WGMMA_LIST_56
#undef WGMMA_LIST_52
#undef WGMMA_LIST_48
#undef WGMMA_LIST_44
#undef WGMMA_LIST_32
#undef WGMMA_OUT32
#undef WGMMA_OUT16
#undef WGMMA_OUT4

// Keeps the compiler from moving accesses to `d` across this point.
template <int kCount>
__device__ __forceinline__ void Pin(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

__device__ __forceinline__ void WgmmaFence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void WgmmaCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until at most `kPending` committed groups are in flight; `d` was written by a completed
// one.
template <int kPending, int kCount>
__device__ __forceinline__ void WgmmaWait(float (&d)[kCount]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
  Pin(d);
}

}  // namespace onnx_cudnn
