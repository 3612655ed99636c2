// The work of a block in the general form of small_batch_conv, and how its patches are loaded to
// shared memory: by cp.async, or computed: by an affine function, or by a prologue program.
#pragma once

#include "runtime/kernels/cuda/conv/small_batch_conv.h"
#include "runtime/kernels/cuda/conv/small_batch_conv_products.cuh"
#include "runtime/kernels/cuda/pointwise/epilogue_program.cuh"

namespace onnx_cudnn {
namespace small_batch_conv {

using Parameters = SmallBatchConvParameters;

#if __CUDA_ARCH__ >= 900

// The work of a block.
struct Block {
  int part;  // of K; the rank in the cluster
  int image;
  int tile;     // index among tiles of pixels
  int filters;  // index among filter tiles of all siblings
  int sibling;
  int first_filter;  // within the sibling
};

template <int kFilters>
__device__ __forceinline__ Block BlockOf(const Parameters& p) {
  Block b;
  b.part = blockIdx.x & (p.split - 1);
  int rest = static_cast<int>(blockIdx.x >> p.log_split);
  b.image = rest % p.tiling.images;
  rest /= p.tiling.images;
  b.tile = rest % p.tiling.per_image();
  b.filters = rest / p.tiling.per_image();
  b.sibling = 0;
  for (int i = 1; i < p.siblings; ++i) b.sibling += b.filters >= p.output[i].first_tile ? 1 : 0;
  b.first_filter = (b.filters - p.output[b.sibling].first_tile) * kFilters;
  return b;
}

// Tables of offsets: of the input pixels in the patches (in pixels of an image, -1: zero), of the
// output pixels, and of the steps of K in a patch (in bytes).
template <int kPixels>
__device__ __forceinline__ void MakeTables(const Parameters& p, const Block& b, int* table) {
  for (int m = threadIdx.x; m < kPixels; m += kSmallBatchThreads) {
    const SmallBatchPixel out = SmallBatchOutput(p.tiling, b.tile, m);
    table[m] = out.row < 0 ? -1 : out.row * p.tiling.columns + out.column;
  }
  for (int i = 0; i < p.sources; ++i) {
    const SmallBatchSource& s = p.source[i];
    for (int j = threadIdx.x; j < s.patch_pixels(); j += kSmallBatchThreads) {
      const SmallBatchPixel in = SmallBatchInput(s, p.tiling, b.tile, j);
      table[p.image[i].table_at + j] = in.row < 0 ? -1 : in.row * s.width + in.column;
    }
    for (int j = threadIdx.x; j < s.steps; j += kSmallBatchThreads) {
      table[p.step_table_at + s.first_step + j] = SmallBatchStepBytes(s, j);
    }
  }
}

// Zeroes the lanes that a stem lacks, and what its last step reads beyond the patch.
__device__ __forceinline__ void ClearStem(const SmallBatchSource& s, char* patch) {
  if (!s.is_stem) return;
  for (int i = threadIdx.x; i < s.patch_bytes / 16; i += kSmallBatchThreads) {
    reinterpret_cast<uint4*>(patch)[i] = make_uint4(0, 0, 0, 0);
  }
}

// Offset of pixel `pixel` in patch `i`: SmallBatchPatchBytes.
__device__ __forceinline__ int PatchBytes(const Parameters& p, int i, uint32_t pixel) {
  const SmallBatchSource& s = p.source[i];
  const int row = static_cast<int>(p.image[i].columns.Divide(pixel));
  return row * (s.row_bytes - s.patch_columns() * s.pixel_bytes) +
         static_cast<int>(pixel) * s.pixel_bytes;
}

// Copies the patch of an image.
template <typename T>
__device__ __forceinline__ void FetchPatch(const Parameters& p, const Block& b, int i,
                                           const int* offsets, uint32_t patch) {
  const SmallBatchSource& s = p.source[i];
  const T* x = static_cast<const T*>(p.image[i].x) +
               static_cast<int64_t>(b.image) * s.height * s.width * s.lanes;
  if (s.is_stem) {
    for (int j = threadIdx.x; j < s.patch_pixels(); j += kSmallBatchThreads) {
      const int offset = offsets[j];
      CopyAsync8(patch + PatchBytes(p, i, j), x + static_cast<int64_t>(max(offset, 0)) * s.lanes,
                 offset >= 0);
    }
    return;
  }
  const int first = b.part * s.part_channels;
  const int count = s.patch_pixels() * static_cast<int>(p.image[i].pieces.divisor);
  for (int j = threadIdx.x; j < count; j += kSmallBatchThreads) {
    uint32_t pixel = j;
    const int piece = p.image[i].pieces.Split(pixel);
    const int offset = offsets[pixel], channel = first + piece * kSmallBatchPiece;
    const bool is_there = offset >= 0 && channel < s.channels;
    const T* from = x + (is_there ? static_cast<int64_t>(offset) * s.lanes + channel : 0);
    CopyAsync16(patch + PatchBytes(p, i, pixel) + piece * 16, from, is_there);
  }
}

// x · scale + shift of four channels; then Relu if `f` says so.
template <typename T>
__device__ __forceinline__ uint2 Affine(const uint2& x, const uint2& scale, const uint2& shift,
                                        const Activation& f) {
  const float4 v = Unpacked<T>(x), s = Unpacked<T>(scale), t = Unpacked<T>(shift);
  return Packed<T>(make_float4(v.x * s.x + t.x, v.y * s.y + t.y, v.z * s.z + t.z, v.w * s.w + t.w),
                   f);
}

// Computes the patch of an image with a factor and an addend for each channel; zero outside the
// image, like the padding of the window.
template <typename T>
__device__ __forceinline__ void ComputeAffinePatch(const Parameters& p, const Block& b, int i,
                                                   const int* offsets, char* patch) {
  const SmallBatchSource& s = p.source[i];
  const SmallBatchConvImage& image = p.image[i];
  const T* x =
      static_cast<const T*>(image.x) + static_cast<int64_t>(b.image) * s.height * s.width * s.lanes;
  const Activation f = {image.clamps ? Activation::Kind::kRelu : Activation::Kind::kNone};
  const int first = b.part * s.part_channels;
  const int count = s.patch_pixels() * static_cast<int>(image.pieces.divisor);
#pragma unroll 2
  for (int j = threadIdx.x; j < count; j += kSmallBatchThreads) {
    uint32_t pixel = j;
    const int piece = image.pieces.Split(pixel);
    const int offset = offsets[pixel], channel = first + piece * kSmallBatchPiece;
    uint4 made = make_uint4(0, 0, 0, 0);
    if (offset >= 0 && channel < s.channels) {
      const uint4 v = __ldcg(
          reinterpret_cast<const uint4*>(x + static_cast<int64_t>(offset) * s.lanes + channel));
      const uint4 scale =
          *reinterpret_cast<const uint4*>(static_cast<const T*>(image.scale) + channel);
      const uint4 shift =
          *reinterpret_cast<const uint4*>(static_cast<const T*>(image.shift) + channel);
      const uint2 low = Affine<T>(make_uint2(v.x, v.y), make_uint2(scale.x, scale.y),
                                  make_uint2(shift.x, shift.y), f);
      const uint2 high = Affine<T>(make_uint2(v.z, v.w), make_uint2(scale.z, scale.w),
                                   make_uint2(shift.z, shift.w), f);
      made = make_uint4(low.x, low.y, high.x, high.y);
    }
    *reinterpret_cast<uint4*>(patch + PatchBytes(p, i, pixel) + piece * 16) = made;
  }
}

// Computes the patch of an image with a prologue program; zero outside the image, like the padding
// of the window.
template <typename T>
__device__ __forceinline__ void ComputePatch(const Parameters& p, const EpilogueProgram& program,
                                             const Block& b, int i, const int* offsets,
                                             char* patch) {
  const SmallBatchSource& s = p.source[i];
  const int first = s.is_stem ? 0 : b.part * s.part_channels;
  const int lanes = s.is_stem ? kEpilogueLanes : s.part_channels;  // lanes to write
  const int fours = lanes / kEpilogueLanes, count = s.patch_pixels() * fours;
#pragma unroll 1
  for (int j = threadIdx.x; j < count; j += kSmallBatchThreads) {
    const int pixel = j / fours, lane = j % fours * kEpilogueLanes;
    const int offset = offsets[pixel], channel = first + lane;
    const int valid = offset < 0 ? 0 : min(max(s.channels - channel, 0), kEpilogueLanes);
    uint2 packed = make_uint2(0, 0);
    if (valid > 0) {
      EpilogueRunner runner(program, EpilogueValues{});
      runner.Run(p.image[i].prologue, {b.image, channel, 0, offset / s.width, offset % s.width},
                 valid, valid, false, {});
      EpilogueValues values = runner.result();
#pragma unroll
      for (int e = 0; e < kEpilogueLanes; ++e) {
        if (e >= valid) values.at[e] = 0;
      }
      packed =
          make_uint2(Pack(T{}, values.at[0], values.at[1]), Pack(T{}, values.at[2], values.at[3]));
    }
    *reinterpret_cast<uint2*>(patch + PatchBytes(p, i, pixel) + lane * 2) = packed;
  }
}

// Loads or computes all patches of the block.
template <typename T, bool kHasProgram>
__device__ __forceinline__ void BringPatches(const Parameters& p, const EpilogueProgram* program,
                                             const Block& block, const int* table, char* patch) {
#pragma unroll
  for (int i = 0; i < kSmallBatchSources; ++i) {
    if (i >= p.sources) break;
    const int* offsets = table + p.image[i].table_at;
    char* to = patch + p.image[i].patch_at;
    if (p.image[i].scale != nullptr) {
      ComputeAffinePatch<T>(p, block, i, offsets, to);
      continue;
    }
    if constexpr (kHasProgram) {
      if (p.image[i].prologue >= 0) {
        ComputePatch<T>(p, *program, block, i, offsets, to);
        continue;
      }
    }
    FetchPatch<T>(p, block, i, offsets, SharedAddress(to));
  }
}

#endif  // __CUDA_ARCH__ >= 900

}  // namespace small_batch_conv
}  // namespace onnx_cudnn
