// One NVIDIA H200, as measured with cuDNN 9.19 and cuBLASLt 13.1. Every figure of this GPU that a
// price is made from stands here; guesses for every GPU stand in calibration.h. Sections are those
// of docs/measurements.md; each layer was timed alone ('How it was measured').
#include "runtime/plan/known_devices.h"

namespace onnx_cudnn {
namespace {

constexpr int kMultiprocessors = 132;

CudnnCalibration Cudnn() {
  return {
      // Stems and 3×3 convolutions at batch 256, parts of the peak for padded channels ('Stems',
      // 'Convolutions of ResNet-50 in cuDNN'). Below 4 the figure is of 3 channels as they are.
      .by_channels = {{{128, 0.85}, {48, 0.62}, {16, 0.21}, {8, 0.17}, {4, 0.26}, {2, 0.14}}},
      // 1×1 convolutions without and with a residual, which only engine 4 takes (333, 178, 104 and
      // 63 µs; floors 216, 108, 54 and 35), and those of 3×3 (64 channels 178 of 78 µs, more
      // channels at most 96): 'Convolutions of ResNet-50 in cuDNN' and 'Residuals'.
      .traffic = 0.85,
      .point_arithmetic = 0.75,
      .residual_traffic = 0.62,
      .residual_arithmetic = 0.57,
      .residual_3x3_narrow = 0.44,
      .residual_3x3 = 0.82,
      // tf32: 3×3 at its floor, 1×1 with a residual 153 of 108 and 551 of 431 µs ('Other types').
      .tf32_residual = 0.75,
      .strict_arithmetic = 0.7,  // a guess
      // Batch 1: beyond a launch and the floor ('Convolutions of ResNet-50 in cuDNN').
      .point_fixed_us = 1.4,
      .point_us_per_product = 0.0012,
      .window_fixed_us = 2.6,
      .window_us_per_product = 0.0015,
      // Depthwise convolutions multiply outside of tensor cores; 3×3 of 96 channels at 56×56 takes
      // 220 µs for bytes that a copy moves in 72 ('Depthwise convolutions').
      .depthwise_traffic = 0.33,
      // 7×7 of 96 channels at batch 16, parts of the fp32 peak: in f16 4,108 µs at 160×160, 79 at
      // 20×20, in f32 2,075 at 80×80 (tools/bench/results/plans-2026-11-22-d5e9133.json). Between
      // 9 and 49 taps nothing was measured.
      .large_depthwise = 0.0165,
      .large_depthwise_f32 = 0.009,
      // cuDNN's matmul graph: 178 µs of a floor of 120, 43 of 35; with a residual 341 of 216, 60 of
      // 35; at batch 1 1.2 µs and more beyond launch and floor ('Matrix products', 'Residuals').
      .product_traffic = 0.63,
      .product_arithmetic = 0.75,
      .product_fixed_us = 1.2,
      .product_us_per_product = 0.0025,
  };
}

// The stride-1 1×1 convolutions of ResNet-50 at batch 256 take, in µs over their floors, 143 of
// 120, 76 of 60, 42 of 35 and 36 of 35; with a residual 232 of 216, 121 of 108, 72 of 54 and 58 of
// 35. At batch 1 they take 3.0 to 5.2 µs, 3.5 to 5.4 with a residual ('Matrix products',
// 'Residuals').
GemmCalibration Gemm() {
  return {.traffic = 0.87,
          .arithmetic = 0.83,
          .residual_traffic = 0.9,
          .residual_arithmetic = 0.6,
          .fixed_us = 1.2,
          .residual_fixed_us = 1.4,
          .us_per_product = 0.0011,
          .strict_arithmetic = 0.8};  // a guess
}

// Floors: products at what power allows; a copy's bytes; what the copy engines can read of L2. A
// block's only tile is fitted to 3×3 convolutions of one round
// (tools/bench/results/kernels-2026-11-22-0bc6c60.json); the launch and the first and last tiles to
// convolutions 1×1 of ResNet-50 at batch 256, which took 0.85 to 1.13 times as long as all
// (tools/bench/results/kernels-2026-11-22-a868533.json).
KernelCalibration::ConvGemm ConvGemm() {
  return {.half_flops_per_us = 600e6 / kMultiprocessors,
          .tf32_flops_per_us = 300e6 / kMultiprocessors,
          .bytes_per_us = 4.0e6,
          .l2_bytes_per_us = 8e6,
          .alone_factor = 1.25,
          .alone_us = 2,
          .finish_us_per_byte = 1e-5,
          .fixed_us = 3,
          .least_us = 7};
}

// The Step is fitted to the 65 links without a prologue that the tuner timed alone, with cold
// weights, at batch 1 and 8 (tools/bench/results/plans-2026-11-22-331d1ee.json). In a network the
// launch and the fetch of the weights overlap with the Step before: those of ResNet-50 at batch 1
// then add up to what 'Convolutions of small batches' says. A prologue, which every block computes
// that reads the patch, is fitted to the 20 such links of the same record.
// Of the tiles, what all blocks fetch is fitted to 'Kernel boundaries', with 120 blocks; the rest
// so that the fastest tiles of 'Convolutions of small batches' stand among the first. A block
// fetches 64 bytes a clock; eight warps issue 64 products of 16 × 8 × 16 a step.
KernelCalibration::SmallBatchConv SmallBatchConv() {
  return {.alone_us = 0.88,
          .wave_us = 1.85,
          .us_per_weight_kib = 0.033,
          .us_per_activation_kib = 0.026,
          .overlap_us = 0.8,
          .prologue = 2.7,
          // A guess: a piece of 16 bytes is loaded, multiplied and stored instead of copied.
          .affine_prologue = 1.3,
          .tiles = {.us_per_weight_kib = 0.022 / 120,
                    .us_per_patch_kib = 0.059 / 120,
                    .us_per_own_kib = 0.011,
                    .us_per_step = 0.073,
                    .cluster_us = 0.4,
                    .doubling_us = 0.2,
                    .wave_us = 0.9}};
}

KernelCalibration Kernels() {
  return {
      // A guess to be sure: ResNet-50 on small_batch_conv at batch 8, the last one that it was
      // fitted to, took 1.5 times as long as on the libraries ('Convolutions of small batches').
      .beyond_fit = 2,
      // Of row groups; see below.
      .traffic = {.row_group = 0.79},
      .arithmetic = {.row_group = 0.67},
      // Guesses: a launch with one round of loads, and plain arithmetic that reads an operand of
      // each product from shared memory. Eight heads of 40 queries and keys, 15 channels each, in
      // f16: 3.12 µs for one image, where it took 3.15.
      .attention = {.fixed_us = 3, .arithmetic = 0.15},
      // 56×56 pixels, f16, bias and ReLU, at batch 1, 32 and 256 7.7, 12.9 and 80 µs; with a
      // residual 7.7, 13.5 and 89 ('Convolutions by wgmma').
      .conv_3x3 = {.plain = {.least_us = 7.7, .fixed_us = 3.2, .us_per_gigaflop = 1.30},
                   .residual = {.least_us = 7.7, .fixed_us = 2.8, .us_per_gigaflop = 1.46}},
      .conv_gemm = ConvGemm(),
      // 1.6 to 1.7 million multiply-adds a µs with one pixel a thread, and 4.1 to 5 of squares
      // (tools/bench/results/plans-2026-11-23-280c2f7.json).
      .depthwise = {.arithmetic = 0.065, .square_arithmetic = 0.18},
      // As fast as from L2 and DRAM together, with one round of loads and sums: 0.72 to 1.09 times
      // as long (tools/bench/results/kernels-2026-11-22-a868533.json).
      .gemv = {.fixed_us = 2.0, .bytes_per_us = 3e6},
      // 3.65, 6.4 and 11.9 µs for 1, 2 and 8 images of 7×7 and 2,048 channels ('Findings while
      // kernels were built').
      .pool_gemv = {.block_bytes_per_us = 2e4},
      // 32,768 rows of 1,024 in f32 and f16: a residual and LayerNormalization 136 and 93 µs, a
      // mask
      // and Softmax 70 and 55, a softmax of its parts 312 and 315; 131,072 rows of 197, a mask and
      // Softmax 76 and 85 (tools/bench/results/kernels-2026-11-28-af53e2d.json): priced 0.85 to 1.2
      // times as long.
      .row_group = {.broken_rows = 1.9},
      .small_batch_conv = SmallBatchConv(),
      // 14 blocks of one image: 0.93 to 1.32 times as long
      // (tools/bench/results/plans-2026-11-23-280c2f7.json).
      .squeeze_excite = {.fixed_us = 3.2, .block_bytes_per_us = 1.25e5},
      // 7×7, stride 2, 3 to 64 channels at 224×224, f16, ReLU and max-pool, at batch 1, 32 and 256
      // 4.7, 15.8 and 98 µs ('Convolutions by wgmma'); in tf32 161 µs at batch 256, the least is an
      // estimate.
      .stem_pool = {.half = {.least_us = 4.7, .fixed_us = 4.0, .us_per_gigaflop = 1.556},
                    .tf32 = {.least_us = 6.0, .fixed_us = 4.0, .us_per_gigaflop = 2.61}},
  };
}

}  // namespace

Calibration CalibrationOfH200() { return {.cudnn = Cudnn(), .gemm = Gemm(), .kernels = Kernels()}; }

// Properties as the driver reports them; fp16 and tf32 products, a copy's bytes read and written.
DeviceInfo H200() {
  DeviceInfo info = UnmeasuredDevice();
  info.name = "h200";
  info.compute_capability = 90;
  info.multiprocessors = kMultiprocessors;
  info.shared_bytes_per_block = 232'448;
  info.l2_bytes = 62'914'560;
  info.memory_bytes = 150'109'880'320;
  info.f16_flops_per_us = 760e6;
  info.tf32_flops_per_us = 423e6;
  info.f32_flops_per_us = 51e6;
  info.bytes_per_us = 4.29e6;
  info.calibration = CalibrationOfH200();
  return info;
}

}  // namespace onnx_cudnn
