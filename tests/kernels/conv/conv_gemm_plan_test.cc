// The tiles that conv_gemm cuts a convolution into.
#include "runtime/kernels/conv/conv_gemm_plan.h"

#include <algorithm>

#include "tests/kernels/kernels_fixture.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;
using Lines = std::vector<std::string>;

class ConvGemmPlanTest : public KernelsTest {
 protected:
  struct Spec {
    int64_t channels, filters, side;  // of the result
    int64_t kernel = 3, stride = 1, images = 256;
    DType dtype = DType::kF16;
  };

  ConvGemmProduct ProductOf(const Spec& spec) {
    graph_ = Graph();
    const int64_t side = spec.side * spec.stride, pad = spec.kernel / 2;
    Value& x =
        graph_.AddInput("x", Type::Tensor(spec.dtype, {spec.images, spec.channels, side, side}));
    Value& w = Weights(graph_, spec.dtype, {spec.filters, spec.channels, spec.kernel, spec.kernel});
    Value& y =
        Append(graph_, "Conv", {&x, &w},
               {{"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{spec.stride, spec.stride}}});
    graph_.AddOutput("y", y);
    return ConvGemmProductOf(UnitOf({y.producer()}));
  }

  Lines Tiles(const Spec& spec) {
    Lines lines;
    for (const ConvGemmTile& tile : ConvGemmTilesOf(ProductOf(spec), target_.info)) {
      lines.push_back(tile.ToString());
    }
    return lines;
  }

  Graph graph_;
};

TEST_F(ConvGemmPlanTest, TilesAreReadAsTheyAreWritten) {
  for (const std::string& line : Tiles({128, 128, 28})) {
    const auto tile = ParseConvGemmTile(line);
    ASSERT_TRUE(tile.ok()) << tile.status();
    EXPECT_EQ(tile->ToString(), line);
  }
  EXPECT_EQ(ParseConvGemmTile("tile=128x96").status().message(),
            "\"tile=128x96\" is no tile of conv_gemm, expected \"tile=128x128 ping-pong\"");
  EXPECT_FALSE(ParseConvGemmTile("tile=128x128 pairs").ok());  // old plan caches have such
}

// The tiles with the least traffic through shared memory and L2, in whole rounds of 132 blocks.
TEST_F(ConvGemmPlanTest, LargeTilesComeFirst) {
  EXPECT_EQ(Tiles({128, 128, 28})[0], "tile=256x128");
  EXPECT_EQ(Tiles({256, 256, 14})[0], "tile=256x128");
  EXPECT_EQ(Tiles({512, 512, 7})[0], "tile=192x128");  // else 1.5 rounds
  EXPECT_EQ(Tiles({64, 64, 56})[0], "tile=256x64 ping-pong");
}

TEST_F(ConvGemmPlanTest, WarpgroupsMayPingPong) {
  const Lines tiles = Tiles({128, 128, 28});
  EXPECT_NE(std::find(tiles.begin(), tiles.end(), "tile=128x128 ping-pong"), tiles.end());
}

// Few tiles: small ones are preferred, so that more blocks have work.
TEST_F(ConvGemmPlanTest, SmallBatchesHaveSmallTiles) {
  const Lines tiles = Tiles({.channels = 512, .filters = 512, .side = 7, .images = 8});
  EXPECT_EQ(tiles[0], "tile=128x64");
}

// Bandwidth-bound, and no tile moves fewer bytes.
TEST_F(ConvGemmPlanTest, ProductsOfFewChannelsHaveOneTile) {
  EXPECT_EQ(Tiles({.channels = 64, .filters = 256, .side = 56, .kernel = 1}),
            (Lines{"tile=128x256"}));
}

TEST_F(ConvGemmPlanTest, PixelsOfAWindowAreLoadedByIm2col) {
  const ConvGemmTile narrow = {.pixels = 128, .filters = 128};
  const ConvGemmTile wide = {.pixels = 256, .filters = 128};
  const auto uses_im2col = [&](const Spec& spec, const ConvGemmTile& tile) {
    const ConvGemmProduct product = ProductOf(spec);
    return product.UsesIm2col(product.sources[0], tile);
  };
  EXPECT_TRUE(uses_im2col({128, 128, 28}, narrow));
  EXPECT_FALSE(uses_im2col({.channels = 128, .filters = 128, .side = 28, .kernel = 1}, wide));
  // Every second pixel: whole rows in a tile of 128 pixels, of which 112 are used (4 rows of 28).
  const Spec strided = {.channels = 128, .filters = 128, .side = 28, .kernel = 1, .stride = 2};
  EXPECT_FALSE(uses_im2col(strided, narrow));
  EXPECT_EQ(ProductOf(strided).TilePixels(narrow), 112);
  EXPECT_TRUE(uses_im2col(strided, wide));
  EXPECT_EQ(ProductOf(strided).TilePixels(wide), 256);
}

}  // namespace
}  // namespace onnx_cudnn
