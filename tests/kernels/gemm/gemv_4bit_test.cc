// How products with weights of four bits are divided.
#include <vector>

#include "runtime/kernels/gemm/gemv_mma.h"
#include "tests/kernels/kernels_fixture.h"

namespace onnx_cudnn {
namespace {

class Gemv4BitTest : public KernelsTest {
 protected:
  Gemv4BitTest() { info_.multiprocessors = 132; }

  // The tiles of a product of `rows` rows, the best guess first.
  std::vector<Gemv4BitTile> Tiles(int rows, int depth, int columns, int block) {
    Graph graph;
    Value& x = graph.AddInput("x", Type::Tensor(DType::kF16, {rows, depth}));
    Value& q = graph.AddConstant(HostTensor::Allocate(DType::kU4, {depth, columns}));
    Value& scales = Weights(graph, DType::kF16, {depth / block, columns});
    Value& w = Append(graph, "DequantizeLinear", {&q, &scales},
                      {{"axis", int64_t{0}}, {"block_size", int64_t{block}}});
    graph.AddOutput("y", Append(graph, "MatMul", {&x, &w}));
    const std::vector<Node*> order = graph.TopologicalOrder();
    return Gemv4BitTiles(UnitOf({order.begin(), order.end()}), info_);
  }

  DeviceInfo info_ = target_.info;
};

TEST_F(Gemv4BitTest, OneRowOfASquareMatrixHasABlockForEachTile) {
  EXPECT_EQ(Tiles(1, 2048, 2048, 32)[0].Text(), "16 split=1");
}

// Each block reads its part of all rows: with 16 of them, wide tiles whose depth a cluster divides.
TEST_F(Gemv4BitTest, SixteenRowsAreReadByFewerColumns) {
  EXPECT_EQ(Tiles(16, 8192, 2048, 32)[0].Text(), "64 split=4");
}

TEST_F(Gemv4BitTest, OnlyClustersDivideTheDepth) {
  info_.compute_capability = 80;
  for (const Gemv4BitTile& tile : Tiles(16, 8192, 2048, 128)) EXPECT_EQ(tile.split, 1);
  EXPECT_EQ(Tiles(16, 8192, 2048, 128).size(), 3u);
}

TEST_F(Gemv4BitTest, ABlockHasAtLeastOneStep) {
  for (const Gemv4BitTile& tile : Tiles(1, 256, 64, 32)) EXPECT_LE(tile.split, 2);
}

TEST_F(Gemv4BitTest, SmallBlocksOfKHaveNone) { EXPECT_TRUE(Tiles(1, 256, 64, 16).empty()); }

}  // namespace
}  // namespace onnx_cudnn
