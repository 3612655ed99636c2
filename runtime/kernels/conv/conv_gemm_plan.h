// How the kernel conv_gemm would run a Unit: what product its convolutions are, and the
// tiles that it can be cut into.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/conv_shape.h"

namespace onnx_cudnn {

inline constexpr int kConvGemmSliceBytes = 128;  // of K, of a pixel or filter

// A tile, and who has it.
struct ConvGemmTile {
  int pixels = 0, filters = 0;  // of a tile
  bool ping_pong = false;       // each of two warpgroups has a tile of its own

  bool is_wide() const { return ping_pong || pixels > 128; }  // filters stand on M
  std::string ToString() const;  // "tile=128x128 ping-pong": pixels × filters
};
absl::StatusOr<ConvGemmTile> ParseConvGemmTile(std::string_view text);

// One or two convolutions over one result, K being the taps and channels of each.
struct ConvGemmProduct {
  std::vector<ConvShape> sources;
  int element_bytes;
  bool has_residual;

  int64_t pixels() const { return sources[0].images * sources[0].out_size(); }
  int64_t filters() const { return sources[0].filters; }
  int64_t depth() const;  // K
  int64_t bytes() const;  // that must be read and written: no skipped pixels
  int64_t slices() const;
  // Whether the pixels of that source come as the places of its window, not as boxes of its image.
  bool HasPlaces(const ConvShape& source, const ConvGemmTile& tile) const;
  // Of a tile: whole rows where they come as boxes of every second pixel.
  int TilePixels(const ConvGemmTile& tile) const;
  // Whether a block has room for all slices of a tile's weights.
  bool KeepsWeights(const ConvGemmTile& tile) const;
};
// Of Convs that the kernel takes.
ConvGemmProduct ConvGemmProductOf(const Unit& unit);

// How many tiles there are, and in how many rounds the device has done them.
struct ConvGemmRounds {
  int64_t filter_tiles;
  int64_t tiles;  // of all pixels and filters
  int64_t rounds;
};
ConvGemmRounds ConvGemmRoundsOf(const ConvGemmProduct& product, const ConvGemmTile& tile,
                                const DeviceInfo& info);

// The tiles that are worth a benchmark, the one first that is predicted to be fastest.
std::vector<ConvGemmTile> ConvGemmTilesOf(const ConvGemmProduct& product, const DeviceInfo& info);

// µs with the fastest tile: what must be read and written, or the products, of which one block has
// a tile's at least.
double ConvGemmUs(const ConvGemmProduct& product, const DeviceInfo& info);

}  // namespace onnx_cudnn
