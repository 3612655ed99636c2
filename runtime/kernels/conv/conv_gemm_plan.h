// How the kernel conv_gemm runs a Unit: the product that its convolutions form, and the tiles that
// it can be cut into.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {

inline constexpr int kConvGemmSliceBytes = 128;  // bytes of a slice of K, per pixel or filter

// A tile, and which warpgroups compute it.
struct ConvGemmTile {
  int pixels = 0, filters = 0;  // per tile
  bool ping_pong = false;       // each of the two warpgroups computes a tile of its own

  bool is_wide() const { return ping_pong || pixels > 128; }  // filters are on the M axis of wgmma
  std::string ToString() const;  // "tile=128x128 ping-pong": pixels × filters
};
absl::StatusOr<ConvGemmTile> ParseConvGemmTile(std::string_view text);

// One or two convolutions with one result; K is the taps and channels of each, concatenated.
struct ConvGemmProduct {
  std::vector<ConvShape> sources;
  int element_bytes;
  bool has_residual;
  bool has_gelu = false;  // behind the sums; wide tiles alone have code for it

  int64_t pixels() const { return sources[0].images * sources[0].out_size(); }
  int64_t filters() const { return sources[0].filters; }
  int64_t depth() const;  // K
  int64_t bytes() const;  // that must be read and written; excludes skipped pixels
  int64_t slices() const;
  // Whether the filters fill tiles of this size, and there is code for what follows.
  bool HasCode(const ConvGemmTile& tile) const;
  // Whether the pixels of that source are loaded in im2col mode, and not as tiled boxes of the
  // image.
  bool UsesIm2col(const ConvShape& source, const ConvGemmTile& tile) const;
  // Pixels per tile: whole rows if tiled boxes load every second pixel.
  int TilePixels(const ConvGemmTile& tile) const;
  // Whether a block has room for all weight slices of a tile.
  bool KeepsWeights(const ConvGemmTile& tile) const;
};
// The product of Convs that the kernel supports.
ConvGemmProduct ConvGemmProductOf(const Unit& unit);

// The number of tiles, and the rounds in which the device computes them.
struct ConvGemmRounds {
  int64_t filter_tiles;
  int64_t tiles;  // over all pixels and filters
  int64_t rounds;
};
ConvGemmRounds ConvGemmRoundsOf(const ConvGemmProduct& product, const ConvGemmTile& tile,
                                const DeviceInfo& info);

// The tiles that are worth a benchmark, in order of predicted time.
std::vector<ConvGemmTile> ConvGemmTilesOf(const ConvGemmProduct& product, const DeviceInfo& info);

// µs with the fastest tile: the larger of memory traffic and arithmetic, but at least the
// arithmetic of one tile on one block.
double ConvGemmUs(const ConvGemmProduct& product, const DeviceInfo& info);

}  // namespace onnx_cudnn
