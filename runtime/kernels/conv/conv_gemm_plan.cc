#include "runtime/kernels/conv/conv_gemm_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/kernels/conv/conv_shapes.h"

namespace onnx_cudnn {
namespace {

constexpr int kMostRowPixels = 128;  // per box
// Of weights; the rest of shared memory is about as large.
constexpr int64_t kMostKeptBytes = 128 << 10;
constexpr double kWorthATrial = 1.35;  // factor on the best prediction

constexpr ConvGemmTile kTiles[] = {
    {.pixels = 128, .filters = 256},
    {.pixels = 128, .filters = 128},
    {.pixels = 128, .filters = 64},
    {.pixels = 256, .filters = 128},
    {.pixels = 192, .filters = 128},
    {.pixels = 128, .filters = 128, .ping_pong = true},
    {.pixels = 256, .filters = 64, .ping_pong = true},
};

// Shared memory delivers 128 bytes per clock; in one clock, the tensor cores process 32 × 64
// channels of 16 bits (32 × 32 in TF32): one element of a tile in one slice.
constexpr double kSharedBytesPerClock = 128;
constexpr double kElementsPerClock = 32;

bool IsPlain(const WindowAxis& axis) {
  return axis.kernel == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
}
bool IsStrided(const ConvShape& shape) {
  return shape.window.h().stride > 1 || shape.window.w().stride > 1;
}

// Whether whole rows of a window's pixels can be loaded as tiled boxes of the image: for one tap,
// rows and columns can be selected independently.
bool IsBoxOfRows(const ConvShape& shape) {
  const WindowAxis &h = shape.window.h(), &w = shape.window.w();
  if (!IsPlain(h) || !IsPlain(w)) return false;
  // Rows of all images are treated as one sequence.
  return !IsStrided(shape) || (h.in % h.stride == 0 && w.out <= kMostRowPixels);
}

const KernelCalibration::ConvGemm& CalibrationOf(const DeviceInfo& info) {
  return info.calibration.kernels.conv_gemm;
}

// Rate of one multiprocessor.
double FlopsPerUs(const ConvGemmProduct& product, const DeviceInfo& info) {
  return product.element_bytes == 4 ? CalibrationOf(info).tf32_flops_per_us
                                    : CalibrationOf(info).half_flops_per_us;
}

// How much longer a slice takes than its products, because of shared memory traffic: the slice
// itself, and the operands of each step of K (four per slice); the M operand has 64 rows.
double SharedMemoryFactor(const ConvGemmTile& tile) {
  constexpr int kSteps = 4, kRowBytes = kConvGemmSliceBytes / kSteps, kRows = 64;
  const int columns = tile.is_wide() ? tile.pixels : tile.filters;
  const int products = tile.pixels * tile.filters / (kRows * columns);
  const double bytes = kConvGemmSliceBytes * (tile.pixels + tile.filters) +
                       kSteps * products * kRowBytes * (kRows + columns);
  const double clocks = tile.pixels * tile.filters / kElementsPerClock;
  return std::max(1.0, bytes / kSharedBytesPerClock / clocks);
}

// Time of one tile's products, including shared memory traffic.
double TileUs(const ConvGemmProduct& product, const ConvGemmTile& tile, const DeviceInfo& info) {
  return SharedMemoryFactor(tile) * 2 *
         static_cast<double>(tile.pixels * tile.filters * product.depth()) /
         FlopsPerUs(product, info);
}

double ProductUs(const ConvGemmProduct& product, const ConvGemmTile& tile, const DeviceInfo& info) {
  return static_cast<double>(ConvGemmRoundsOf(product, tile, info).rounds) *
         TileUs(product, tile, info);
}

double BytesUs(const ConvGemmProduct& product, const DeviceInfo& info) {
  return static_cast<double>(product.bytes()) / CalibrationOf(info).bytes_per_us;
}

double L2Us(const ConvGemmProduct& product, const ConvGemmTile& tile, const ConvGemmRounds& rounds,
            const DeviceInfo& info) {
  const int64_t rows = tile.pixels + tile.filters;
  return static_cast<double>(rounds.tiles * product.slices() * rows * kConvGemmSliceBytes) /
         CalibrationOf(info).l2_bytes_per_us;
}

double UsOf(const ConvGemmProduct& product, const ConvGemmTile& tile, const DeviceInfo& info) {
  const ConvGemmRounds rounds = ConvGemmRoundsOf(product, tile, info);
  const double product_us = ProductUs(product, tile, info);
  const double finish_us = CalibrationOf(info).finish_us_per_byte *
                           static_cast<double>(tile.pixels * tile.filters * product.element_bytes);
  // With ping-pong, one warpgroup finishes while the other multiplies.
  const double finishes = tile.ping_pong   ? 1
                          : tile.is_wide() ? 0.5 * rounds.rounds + 0.5
                                           : static_cast<double>(rounds.rounds);
  const double l2_us = L2Us(product, tile, rounds, info);
  return std::max({product_us + finishes * finish_us, l2_us, BytesUs(product, info)}) + 0.1 * l2_us;
}

// The tile of 128 pixels with the shortest total time over rounds, including overhead per round:
// the setup in which bandwidth-bound products were measured.
ConvGemmTile NarrowTile(const ConvGemmProduct& product, const DeviceInfo& info) {
  constexpr int64_t kRoundFilters = 32;
  ConvGemmTile best;
  int64_t least = 0;
  for (const ConvGemmTile& tile : kTiles) {
    if (tile.is_wide() || product.filters() % tile.filters != 0) continue;
    const int64_t cost =
        ConvGemmRoundsOf(product, tile, info).rounds * (tile.filters + kRoundFilters);
    if (best.filters == 0 || cost < least) best = tile, least = cost;
  }
  return best;
}

bool HasWindow(const ConvGemmProduct& product) {
  return std::any_of(product.sources.begin(), product.sources.end(),
                     [](const ConvShape& s) { return s.window.kernel_size() > 1; });
}

}  // namespace

std::string ConvGemmTile::ToString() const {
  return absl::StrCat("tile=", pixels, "x", filters, ping_pong ? " ping-pong" : "");
}

absl::StatusOr<ConvGemmTile> ParseConvGemmTile(std::string_view text) {
  for (const ConvGemmTile& tile : kTiles) {
    if (tile.ToString() == text) return tile;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no tile of conv_gemm, expected \"tile=128x128 ping-pong\""));
}

int64_t ConvGemmProduct::depth() const {
  int64_t depth = 0;
  for (const ConvShape& s : sources) depth += s.channels * s.window.kernel_size();
  return depth;
}

int64_t ConvGemmProduct::bytes() const {
  int64_t elements = depth() * filters() + (has_residual ? 2 : 1) * pixels() * filters();
  for (const ConvShape& s : sources) {
    const int64_t read = std::min(s.in_size(), s.out_size() * s.window.kernel_size());
    elements += s.images * s.channels * read;
  }
  return element_bytes * elements;
}

int64_t ConvGemmProduct::slices() const { return depth() * element_bytes / kConvGemmSliceBytes; }

bool ConvGemmProduct::HasCode(const ConvGemmTile& tile) const {
  return filters() % tile.filters == 0 && (tile.is_wide() || !has_gelu);
}

bool ConvGemmProduct::UsesIm2col(const ConvShape& source, const ConvGemmTile& tile) const {
  const WindowAxis &h = source.window.h(), &w = source.window.w();
  if (IsPlain(h) && IsPlain(w) && !IsStrided(source)) return false;
  return tile.is_wide() || !std::all_of(sources.begin(), sources.end(), IsBoxOfRows);
}

int ConvGemmProduct::TilePixels(const ConvGemmTile& tile) const {
  for (const ConvShape& s : sources) {
    const int columns = static_cast<int>(s.window.w().out);
    if (IsStrided(s) && !UsesIm2col(s, tile)) return tile.pixels / columns * columns;
  }
  return tile.pixels;
}

bool ConvGemmProduct::KeepsWeights(const ConvGemmTile& tile) const {
  return !tile.is_wide() && slices() * tile.filters * kConvGemmSliceBytes <= kMostKeptBytes;
}

ConvGemmProduct ConvGemmProductOf(const Unit& unit) {
  ConvGemmProduct product = {};
  const std::vector<const Node*> convs = ConvsOf(unit.nodes);
  for (const Node* conv : convs) product.sources.push_back(*StaticConvShape(*conv));
  product.element_bytes = BitsOf(convs[0]->input(0).dtype()) / 8;
  const auto adds = std::count_if(unit.nodes.begin(), unit.nodes.end(),
                                  [](const Node* node) { return node->op() == "Add"; });
  product.has_residual = adds + 1 > static_cast<int64_t>(convs.size());
  return product;
}

ConvGemmRounds ConvGemmRoundsOf(const ConvGemmProduct& product, const ConvGemmTile& tile,
                                const DeviceInfo& info) {
  ConvGemmRounds r = {};
  r.filter_tiles = product.filters() / tile.filters;
  r.tiles = CeilDiv(product.pixels(), product.TilePixels(tile)) * r.filter_tiles;
  r.rounds = CeilDiv(r.tiles, std::max(info.multiprocessors, 1));
  return r;
}

std::vector<ConvGemmTile> ConvGemmTilesOf(const ConvGemmProduct& product, const DeviceInfo& info) {
  std::vector<std::pair<double, ConvGemmTile>> found;
  for (const ConvGemmTile& tile : kTiles) {
    if (product.HasCode(tile)) found.emplace_back(UsOf(product, tile, info), tile);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (!HasWindow(product) && !product.has_gelu) {
    const ConvGemmTile narrow = NarrowTile(product, info);
    if (BytesUs(product, info) > ProductUs(product, narrow, info)) return {narrow};
  }
  std::vector<ConvGemmTile> variants;
  for (const auto& [us, tile] : found) {
    // The prediction knows nothing of Gelu, which is hidden to different extents.
    if (us > kWorthATrial * found[0].first && !product.has_gelu) break;
    variants.push_back(tile);
  }
  return variants;
}

double ConvGemmUs(const ConvGemmProduct& product, const DeviceInfo& info) {
  const KernelCalibration::ConvGemm& calibration = CalibrationOf(info);
  const double all = static_cast<double>(product.pixels() * product.filters() * product.depth());
  const double flops_per_us = FlopsPerUs(product, info) * std::max(info.multiprocessors, 1);
  const ConvGemmTile tile = ConvGemmTilesOf(product, info)[0];
  const double alone_us =
      calibration.alone_factor * TileUs(product, tile, info) + calibration.alone_us;
  return std::max({BytesUs(product, info), 2 * all / flops_per_us, alone_us});
}

}  // namespace onnx_cudnn
