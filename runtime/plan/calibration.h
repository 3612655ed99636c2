// Performance figures of the libraries and our kernels on a device, used for prices in addition to
// the device's rates. One set per measured device (devices/); RooflinesOf for all others.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace onnx_cudnn {

// A time measured at several batch sizes: a minimum, and a linear function above it.
struct MeasuredLine {
  double least_us = 0, fixed_us = 0, us_per_gigaflop = 0;

  double At(int64_t flops) const;
};

// Shares are fractions of the device's peaks. The defaults are those of a roofline: every peak is
// reached, and only a launch adds time. Figures that were measured on no device are marked as
// guesses.
struct CudnnCalibration {
  // Convolutions on tensor cores, by the number of channels per window position.
  struct ByChannels {
    int64_t at_least = 0;
    double arithmetic = 1;
  };
  std::array<ByChannels, 6> by_channels;
  double traffic = 1;
  double point_arithmetic = 1;  // 1×1
  double residual_traffic = 1;
  double residual_arithmetic = 1;
  // Arithmetic; up to `narrow` filters, and beyond.
  double residual_3x3_narrow = 1, residual_3x3 = 1;
  int64_t narrow = 64;  // channels
  double tf32_residual = 1;
  double strict_arithmetic = 1;                         // f32 without tensor cores
  double point_fixed_us = 0, point_us_per_product = 0;  // per product summed into one element
  double window_fixed_us = 0, window_us_per_product = 0;
  double depthwise_traffic = 1;
  int64_t depthwise_taps = 9;  // per window; larger windows use the shares of large ones
  double large_depthwise = 1, large_depthwise_f32 = 1;

  // Matrix products.
  double product_traffic = 1, product_arithmetic = 1;
  double product_fixed_us = 0, product_us_per_product = 0;

  // Guesses.
  double prologue_arithmetic = 0.6;  // a prologue is assumed to cost more than an epilogue
  double prologue_us = 0.5;
  double unaligned = 0.5;
  double attention_arithmetic = 0.35;
  double pooling_traffic = 0.7;
  double normalization_traffic = 0.7;
  double reduction_traffic = 0.5;
  double pointwise_traffic = 0.75;
};

struct GemmCalibration {
  double traffic = 1, arithmetic = 1;
  double residual_traffic = 1, residual_arithmetic = 1;
  double fixed_us = 0, residual_fixed_us = 0, us_per_product = 0;
  double strict_arithmetic = 1;
  double unaligned = 0.5;  // a guess
};

// Shares of the peaks that our kernels reach whose prices are not fitted to measurements: guesses,
// the same on every device. Each is named after its kernel; `usual` is for all others.
struct TrafficShares {
  double usual = 0.8;  // tests/gpu/speed_test.cc requires it of kernels that move bytes
  double cumulate = 0.5;
  double decode_attention = 0.8;
  double matmul = 0.1;  // the few blocks of a flat product
  double mean_variance_norm = 0.5;
  double non_zero = 0.5;
  double plane_norm = 0.6;
  double row_group = 0.75;
  double scatter = 0.5;
  double top_k = 0.5;
};
// Of the f32 rate.
struct ArithmeticShares {
  double usual = 0.25;        // plain code; f64 runs at half of it
  double direct_conv = 0.05;  // a loop without tiles
  double elimination = 0.02;  // one matrix, with barriers for every row
  double gemv = 0.5;          // weights are converted to f32
  double non_max_suppression = 0.2;
  double row_group = 0.5;  // of its instructions, one per core and clock
};

// Our kernels. A kernel without figures of its own is priced by the shares that its Speed names
// (kernels/common/kernel.h).
struct KernelCalibration {
  // Factor on the prediction outside the range that a kernel's price was fitted to.
  double beyond_fit = 2;
  TrafficShares traffic;
  ArithmeticShares arithmetic;

  struct Attention {
    double fixed_us = 0, arithmetic = 1;  // share of the f32 rate
  } attention;
  struct Conv3x3 {
    MeasuredLine plain, residual;
  } conv_3x3;
  struct ConvGemm {
    double half_flops_per_us = 1, tf32_flops_per_us = 1;  // per multiprocessor
    double bytes_per_us = 1;
    double l2_bytes_per_us = std::numeric_limits<double>::infinity();  // read by TMA
    // For a block with a single tile: a factor on its products, and µs.
    double alone_factor = 1, alone_us = 0;
    // To convert and write a tile while no other warpgroup multiplies.
    double finish_us_per_byte = 0;
    double fixed_us = 0, least_us = 0;
  } conv_gemm;
  struct Depthwise {
    double arithmetic = 1, square_arithmetic = 1;  // share of the f32 rate
  } depthwise;
  // Guesses a little below those of cuDNN's attention, so that only tuning chooses the kernel.
  struct FlashAttention {
    double fixed_us = 2, arithmetic = 0.3;  // share of the f16 rate
    double traffic = 0.5;
  } flash_attention;
  struct Gemv {
    double fixed_us = 0, bytes_per_us = 1;
  } gemv;
  struct PoolGemv {
    double block_bytes_per_us = std::numeric_limits<double>::infinity();
  } pool_gemv;
  struct RowGroup {
    // Factor on the arithmetic of rows that are no whole vectors of 8 elements.
    double broken_rows = 1;
  } row_group;
  struct SmallBatchConv {
    // Price of the whole Step.
    double alone_us = 0, wave_us = 0, us_per_weight_kib = 0, us_per_activation_kib = 0;
    double overlap_us = 0, prologue = 1, affine_prologue = 1;
    // Factor on the roofline if no tile holds the whole depth, which then needs several rounds of
    // reads: a guess.
    double no_tile = 10;
    // Order of its tiles.
    struct Tiles {
      double us_per_weight_kib = 0, us_per_patch_kib = 0;  // of all blocks
      double us_per_own_kib = 0;  // of one block, however few blocks there are
      double us_per_step = 0;     // step of K, of every warp
      // The start of a cluster, and each doubling of its blocks.
      double cluster_us = 0, doubling_us = 0;
      double wave_us = 0;  // for each further wave of blocks
    } tiles;
  } small_batch_conv;
  struct SqueezeExcite {
    double fixed_us = 0, block_bytes_per_us = std::numeric_limits<double>::infinity();
  } squeeze_excite;
  struct StemPool {
    MeasuredLine half, tf32;
  } stem_pool;
};

struct HostCalibration {
  double loop_flops_per_us = 1e5;  // plain loops over floats
};

struct Calibration {
  CudnnCalibration cudnn;
  GemmCalibration gemm;
  KernelCalibration kernels;
  HostCalibration host;
};

}  // namespace onnx_cudnn
