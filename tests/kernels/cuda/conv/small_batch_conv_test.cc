// The index arithmetic of small_batch_conv and its packed weights, evaluated on the host in the
// order of a block of the kernel, against a convolution by its definition.
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "runtime/kernels/conv/small_batch_conv_plan.h"
#include "runtime/ops/elements.h"
#include "runtime/plan/known_devices.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A small integer, positive or negative: sums are exact in any order.
float Number(int64_t i) { return static_cast<float>((i * 7 + i / 11 * 5) % 9 - 4); }

struct Conv {
  int64_t channels = 16, filters = 16, kernel = 1, stride = 1;
  Ints pads = {0, 0, 0, 0};
  int64_t height = 9, width = 9;
  bool has_bias = true;
  int64_t images = 2;
};

HostTensor Halves(const Dims& dims, int64_t seed) {
  HostTensor tensor = HostTensor::Allocate(DType::kF16, dims);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.mutable_data<Float16>()[i] = ToFloat16(Number(i + seed));
  }
  return tensor;
}

// A Unit of Convs, with an image each or one common image, added or side by side.
class SmallBatchConvTest : public testing::Test {
 protected:
  Value& Image(const Conv& c) {
    const Dims dims = {c.images, c.channels, c.height, c.width};
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, dims));
    images_.push_back(Halves(dims, static_cast<int64_t>(images_.size()) + 3));
    return x;
  }

  Value& Add(const Conv& c, Value& x) {
    const Dims w = {c.filters, c.channels, c.kernel, c.kernel};
    std::vector<Value*> inputs = {&x, &graph_.AddConstant(Halves(w, 1))};
    if (c.has_bias) inputs.push_back(&graph_.AddConstant(Halves({c.filters}, 2)));
    Node& node =
        graph_.AddNode({.op = "Conv",
                        .inputs = inputs,
                        .attrs = {{"pads", c.pads}, {"strides", Ints{c.stride, c.stride}}}});
    const auto extent = [&](int64_t in, int axis) {
      return (in + c.pads[axis] + c.pads[axis + 2] - c.kernel) / c.stride + 1;
    };
    const Dims y = {c.images, c.filters, extent(c.height, 0), extent(c.width, 1)};
    graph_.SetType(node.output(0), Type::Tensor(DType::kF16, y));
    nodes_.push_back(&node);
    return node.output(0);
  }

  void Sum(Value& a, Value& b) {
    Node& node = graph_.AddNode({.op = "Add", .inputs = {&a, &b}});
    graph_.SetType(node.output(0), a.type());
    nodes_.push_back(&node);
    graph_.AddOutput("y", node.output(0));
  }

  void CheckAlone(const Conv& c) {
    Add(c, Image(c));
    Check();
  }

  // Checks every tile of the Unit against the definition.
  void Check() {
    const Unit unit = UnitOf(nodes_);
    const absl::StatusOr<UnitConvs> convs = UnitConvsOf(unit);
    ASSERT_TRUE(convs.ok()) << convs.status();
    const std::vector<SmallBatchPlan> plans = SmallBatchPlansOf(*convs, H200());
    ASSERT_FALSE(plans.empty());
    for (const SmallBatchPlan& plan : plans) {
      SCOPED_TRACE(plan.tile.ToString());
      EXPECT_LE(plan.shared_bytes(), 232'448);
      CheckPlan(unit, *convs, plan);
      if (HasFailure()) return;
    }
  }

 private:
  // A block's patch as floats. Elements that the kernel does not write are NaN.
  std::vector<float> PatchOf(const SmallBatchPlan& plan, int source, const HostTensor& image, int n,
                             int tile, int part) {
    const SmallBatchSource& s = plan.source[source];
    std::vector<float> patch(s.patch_bytes / 2, s.is_stem ? 0 : kNaN);
    for (int j = 0; j < s.patch_pixels(); ++j) {
      const SmallBatchPixel in = SmallBatchInput(s, plan.tiling, tile, j);
      for (int c = 0; c < s.part_channels; ++c) {
        const int channel = s.is_stem ? c : part * s.part_channels + c;
        const bool is_there = in.row >= 0 && channel < s.channels;
        const int64_t at = ((int64_t{n} * s.channels + channel) * s.height + in.row) * s.width;
        patch[SmallBatchPatchBytes(s, j) / 2 + c] =
            is_there ? ToFloat(image.data<Float16>()[at + in.column]) : 0;
      }
    }
    return patch;
  }

  // Adds a block's results to `y`, [sibling][image, filter, pixel].
  void RunBlock(const SmallBatchPlan& plan, const HostTensor& slabs, int n, int tile, int filters,
                int part, std::vector<std::vector<float>>& y) {
    const int bytes = SmallBatchSlabBytes(plan.tile.filters, plan.steps);
    const char* slab =
        static_cast<const char*>(slabs.raw()) + (int64_t{filters} * plan.tile.split + part) * bytes;
    const float* bias =
        reinterpret_cast<const float*>(slab + plan.tile.filters * SmallBatchRowBytes(plan.steps));
    int sibling = 0;
    while (filters >= plan.first_tile[sibling + 1]) ++sibling;
    std::vector<std::vector<float>> patches;
    for (int i = 0; i < plan.sources; ++i) {
      patches.push_back(PatchOf(plan, i, images_[i], n, tile, part));
    }
    for (int m = 0; m < plan.tile.pixels; ++m) {
      const SmallBatchPixel out = SmallBatchOutput(plan.tiling, tile, m);
      if (out.row < 0) continue;
      for (int f = 0; f < plan.tile.filters; ++f) {
        const int filter = (filters - plan.first_tile[sibling]) * plan.tile.filters + f;
        if (filter >= plan.filters[sibling]) continue;
        const Float16* row =
            reinterpret_cast<const Float16*>(slab + f * SmallBatchRowBytes(plan.steps));
        float sum = part == 0 ? bias[f] : 0;
        for (int i = 0; i < plan.sources; ++i) {
          const SmallBatchSource& s = plan.source[i];
          for (int step = 0; step < s.steps; ++step) {
            const int at =
                (SmallBatchPixelBytes(s, plan.tiling, m) + SmallBatchStepBytes(s, step)) / 2;
            EXPECT_EQ(at % kSmallBatchPiece, 0);
            for (int e = 0; e < kSmallBatchStep; ++e) {
              sum +=
                  patches[i].at(at + e) * ToFloat(row[(s.first_step + step) * kSmallBatchStep + e]);
            }
          }
        }
        const int64_t pixel = int64_t{out.row} * plan.tiling.columns + out.column;
        const int64_t pixels = int64_t{plan.tiling.rows} * plan.tiling.columns;
        y[sibling][(int64_t{n} * plan.filters[sibling] + filter) * pixels + pixel] += sum;
      }
    }
  }

  void CheckPlan(const Unit& unit, const UnitConvs& convs, const SmallBatchPlan& plan) {
    const Derived derived = PackSmallBatchWeights(convs, plan, unit);
    std::vector<HostTensor> sources;
    for (const int from : derived.from) {
      sources.push_back(unit.boundary.constants[from]->constant());
    }
    const absl::StatusOr<HostTensor> slabs = derived.make(sources);
    ASSERT_TRUE(slabs.ok());
    EXPECT_EQ(slabs->bytes(), derived.to.bytes(DType::kU8));
    const std::string_view bytes(static_cast<const char*>(slabs->raw()), slabs->bytes());
    EXPECT_TRUE(slabs_.try_emplace(derived.recipe, bytes).first->second == bytes)
        << derived.recipe << " names two forms";
    std::vector<std::vector<float>> y;
    for (int i = 0; i < plan.siblings; ++i) {
      y.emplace_back(convs.convs[i]->output(0).elements(), 0.0F);
    }
    int64_t blocks = 0;
    for (int n = 0; n < plan.tiling.images; ++n) {
      for (int tile = 0; tile < plan.tiling.per_image(); ++tile) {
        for (int filters = 0; filters < plan.first_tile[plan.siblings]; ++filters) {
          for (int part = 0; part < plan.tile.split; ++part, ++blocks) {
            RunBlock(plan, *slabs, n, tile, filters, part, y);
          }
        }
      }
    }
    EXPECT_EQ(blocks, plan.blocks());
    for (int i = 0; i < plan.siblings; ++i) EXPECT_EQ(y[i], Expected(convs, i)) << "output " << i;
  }

  // By definition: the sum of all Convs, or the i-th Conv.
  std::vector<float> Expected(const UnitConvs& convs, int i) {
    std::vector<float> y(convs.convs[i]->output(0).elements(), 0.0F);
    for (size_t j = 0; j < convs.convs.size(); ++j) {
      if (!convs.summed && static_cast<int>(j) != i) continue;
      AddConv(*convs.convs[j], convs.shapes[j], images_[convs.summed ? j : 0], y);
    }
    return y;
  }

  static void AddConv(const Node& conv, const ConvShape& shape, const HostTensor& image,
                      std::vector<float>& y) {
    const WindowAxis &h = shape.window.h(), &w = shape.window.w();
    const HostTensor& weight = conv.input(1).constant();
    int64_t at = 0;
    for (int64_t n = 0; n < shape.images; ++n) {
      for (int64_t f = 0; f < shape.filters; ++f) {
        for (int64_t o = 0; o < shape.out_size(); ++o, ++at) {
          if (conv.has_input(2)) y[at] += ToFloat(conv.input(2).constant().data<Float16>()[f]);
          for (int64_t row = 0; row < shape.rows(); ++row) {
            const int64_t c = row / (h.kernel * w.kernel), tap = row % (h.kernel * w.kernel);
            const int64_t i = h.At(o / w.out, tap / w.kernel), j = w.At(o % w.out, tap % w.kernel);
            if (!h.Inside(i) || !w.Inside(j)) continue;
            y[at] +=
                ToFloat(image.data<Float16>()[((n * shape.channels + c) * h.in + i) * w.in + j]) *
                ToFloat(weight.data<Float16>()[f * shape.rows() + row]);
          }
        }
      }
    }
  }

  std::vector<HostTensor> images_;
  std::map<std::string, std::string> slabs_;  // by recipe

 protected:
  Graph graph_;
  std::vector<const Node*> nodes_;
};

TEST_F(SmallBatchConvTest, OnePixel) {
  CheckAlone({.channels = 48, .filters = 40, .height = 7, .width = 11});
}

TEST_F(SmallBatchConvTest, OnePixelStridedPastPadding) {
  CheckAlone({.channels = 24, .filters = 72, .stride = 2, .pads = {1, 0, 0, 1}});
}

TEST_F(SmallBatchConvTest, ThreeByThree) {
  CheckAlone({.channels = 64, .filters = 64, .kernel = 3, .pads = {1, 1, 1, 1}, .images = 1});
}

TEST_F(SmallBatchConvTest, ThreeByThreeStridedWithOddChannelsAndPads) {
  CheckAlone({.channels = 40,
              .filters = 24,
              .kernel = 3,
              .stride = 2,
              .pads = {0, 1, 2, 0},
              .height = 13,
              .width = 70,
              .has_bias = false,
              .images = 1});
}

TEST_F(SmallBatchConvTest, StridesOfThreePhases) {
  CheckAlone({.channels = 16, .filters = 32, .kernel = 5, .stride = 3, .pads = {2, 2, 2, 2}});
}

TEST_F(SmallBatchConvTest, EightChannels) {
  CheckAlone({.channels = 8, .filters = 8, .kernel = 5, .pads = {2, 2, 2, 2}});
}

TEST_F(SmallBatchConvTest, Stem) {
  CheckAlone({.channels = 3,
              .filters = 64,
              .kernel = 7,
              .stride = 2,
              .pads = {3, 3, 3, 3},
              .height = 30,
              .width = 42,
              .images = 1});
}

TEST_F(SmallBatchConvTest, StemsOfOddStrides) {
  CheckAlone({.channels = 1, .filters = 16, .kernel = 3, .stride = 1, .pads = {1, 1, 1, 1}});
}

TEST_F(SmallBatchConvTest, StemOfOnePixel) { CheckAlone({.channels = 4, .filters = 16}); }

TEST_F(SmallBatchConvTest, TwoSources) {
  const Conv a{.channels = 32, .filters = 48, .kernel = 3, .pads = {1, 1, 1, 1}};
  const Conv b{.channels = 72, .filters = 48, .stride = 2, .height = 17, .width = 17};
  Value& left = Add(a, Image(a));
  Sum(left, Add(b, Image(b)));
  Check();
}

TEST_F(SmallBatchConvTest, TwoSourcesOfOnePixel) {
  const Conv a{.channels = 128, .filters = 32};
  const Conv b{.channels = 64, .filters = 32, .stride = 2, .height = 17, .width = 18};
  Value& left = Add(a, Image(a));
  Sum(left, Add(b, Image(b)));
  Check();
}

TEST_F(SmallBatchConvTest, Siblings) {
  const Conv a{.channels = 32, .filters = 40, .kernel = 3, .pads = {1, 1, 1, 1}};
  Conv b = a;
  b.filters = 72;
  b.has_bias = false;
  Value& x = Image(a);
  Add(a, x);
  Add(b, x);
  Check();
}

// A Program of other shapes, whose tiles have more pixels, uploads nothing.
TEST_F(SmallBatchConvTest, TilesOfMorePixelsReadTheSameWeights) {
  const Conv c{.channels = 48, .filters = 40};
  Add(c, Image(c));
  const Unit unit = UnitOf(nodes_);
  const absl::StatusOr<UnitConvs> convs = UnitConvsOf(unit);
  ASSERT_TRUE(convs.ok()) << convs.status();
  std::map<int, std::set<std::string>> recipes;  // by the filters of a tile
  for (const int pixels : {32, 64}) {
    for (const int filters : {16, 32, 64}) {
      const absl::StatusOr<SmallBatchPlan> plan =
          PlanSmallBatch(*convs, {pixels, filters, 1}, H200().shared_bytes_per_block);
      ASSERT_TRUE(plan.ok()) << plan.status();
      recipes[filters].insert(PackSmallBatchWeights(*convs, *plan, unit).recipe);
    }
  }
  EXPECT_EQ(recipes[16].size(), 1u);
  EXPECT_EQ(recipes[32].size(), 1u);
  EXPECT_EQ(recipes[64].size(), 1u);
  EXPECT_NE(recipes[32], recipes[64]);
}

// ldmatrix reads 16 bytes of eight adjacent pixels at once.
TEST_F(SmallBatchConvTest, NeighbouringPixelsMeetNoBankTwice) {
  for (const int64_t stride : {1, 2}) {
    for (const int64_t width : {14, 28, 56}) {
      const Conv c{.channels = 64,
                   .kernel = 3,
                   .stride = stride,
                   .pads = {1, 1, 1, 1},
                   .height = width * stride,
                   .width = width * stride};
      graph_ = Graph();
      nodes_.clear();
      Add(c, Image(c));
      const absl::StatusOr<UnitConvs> convs = UnitConvsOf(UnitOf(nodes_));
      ASSERT_TRUE(convs.ok()) << convs.status();
      for (const SmallBatchPlan& plan : SmallBatchPlansOf(*convs, H200())) {
        const int pixels = plan.tiling.tile_rows * plan.tiling.tile_columns;
        for (int m = 0; m + 8 <= pixels; m += 8) {
          std::set<int> banks;
          for (int i = 0; i < 8; ++i) {
            banks.insert(SmallBatchPixelBytes(plan.source[0], plan.tiling, m + i) / 16 % 8);
          }
          EXPECT_EQ(banks.size(), 8u) << plan.tile.ToString() << ", width " << width;
        }
      }
    }
  }
}

TEST(SmallBatchTileTest, IsReadAsItIsWritten) {
  const absl::StatusOr<SmallBatchTile> tile = ParseSmallBatchTile("tile=64x32 split=4");
  ASSERT_TRUE(tile.ok());
  EXPECT_EQ(tile->ToString(), "tile=64x32 split=4");
  EXPECT_FALSE(ParseSmallBatchTile("tile=48x32 split=4").ok());
  EXPECT_FALSE(ParseSmallBatchTile("tile=64x32 split=4 next=soon").ok());
  for (const char* text :
       {"tile=32x16 split=8", "tile=32x64 split=1 next=late", "tile=64x64 split=2 form=general"}) {
    const absl::StatusOr<SmallBatchTile> read = ParseSmallBatchTile(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->ToString(), text);
  }
}

// 512 filters of 7×7: 16 a tile give 128 blocks with half of the weights of 64 blocks.
TEST_F(SmallBatchConvTest, TilesOfFewFiltersOccupyMoreProcessors) {
  const Conv c{.channels = 512,
               .filters = 512,
               .kernel = 3,
               .pads = {1, 1, 1, 1},
               .height = 7,
               .width = 7,
               .images = 1};
  Add(c, Image(c));
  const absl::StatusOr<UnitConvs> convs = UnitConvsOf(UnitOf(nodes_));
  ASSERT_TRUE(convs.ok()) << convs.status();
  const auto plan = [&](int filters) {
    return PlanSmallBatch(*convs, {64, filters, 4}, H200().shared_bytes_per_block);
  };
  const absl::StatusOr<SmallBatchPlan> few = plan(16), more = plan(32);
  ASSERT_TRUE(few.ok() && more.ok());
  EXPECT_EQ(few->blocks(), 128);
  EXPECT_EQ(more->blocks(), 64);
  EXPECT_EQ(few->warps_k(), 4);
  EXPECT_LT(few->slab_bytes, 40'000);
  EXPECT_GT(more->slab_bytes, 70'000);
}

}  // namespace
}  // namespace onnx_cudnn
