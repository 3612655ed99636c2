#include "runtime/kernels/gemm/small_batch_matmul.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/conv/conv_shapes.h"
#include "runtime/kernels/conv/small_batch_conv_cost.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kLeastColumns = 32;  // of a tile

Support TakesProduct(const Unit& core) {
  if (Support s = CheckRowProduct(core.node()); !s) return s;
  const RowProduct product = RowProductOf(core);
  if (product.depth() % kSmallBatchStep == 0 && product.columns() % kLeastColumns == 0) {
    return Support::Yes();
  }
  return Support::No(absl::StrCat("its depth ", product.depth(), " is no multiple of 16 or its ",
                                  product.columns(), " columns are none of 32"));
}

GrowthOptions Growth(const Unit&) { return {.forward = JoinsRowProduct}; }

Support FitsATile(const Unit& unit, const DeviceInfo& info) {
  if (!SmallMatMulPlansOf(unit, info).empty()) return Support::Yes();
  return Support::No("no tile holds its depth in shared memory");
}

// Every block keeps all of its depth in shared memory. From 197 rows on libraries, whose blocks
// read each weight for more rows, are up to three times as fast
// (tools/bench/results/rivals-2026-11-26-fa82715.json).
constexpr int64_t kFittedRows = 128;

bool HasManyRows(const Unit& unit, const DeviceInfo&) {
  return RowProductOf(unit).rows() > kFittedRows;
}

double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const RowProduct product = RowProductOf(unit);
  const std::optional<double> us = SmallBatchConvUs({.pixels = product.rows(),
                                                     .filters = product.columns(),
                                                     .depth = product.depth(),
                                                     .has_prologue = false},
                                                    target.info);
  const double no_tile = target.info.calibration.kernels.small_batch_conv.no_tile;
  return std::max(us.value_or(no_tile * roofline.us), roofline.us);
}

std::vector<std::string> Variants(const Unit& unit, const Target& target) {
  std::vector<std::string> variants;
  for (const SmallBatchPlan& plan : SmallMatMulPlansOf(unit, target.info)) {
    variants.push_back(plan.tile.ToString());
  }
  return variants;
}

// Copies a tile's columns, `part` of their depth, to the rows of a slab.
void PackWeights(const HostTensor& w, bool transposed, const SmallBatchPlan& plan, int column,
                 int part, char* slab) {
  const SmallBatchSource& s = plan.source[0];
  const int64_t along_depth = transposed ? 1 : w.dims()[1];
  const int64_t along_columns = transposed ? w.dims()[1] : 1;
  const uint16_t* from = static_cast<const uint16_t*>(w.raw()) + column * along_columns;
  const int row_elements = SmallBatchRowBytes(plan.steps) / 2;
  for (int step = 0; step < s.steps; ++step) {
    for (int e = 0; e < kSmallBatchStep; ++e) {
      const uint16_t* k = from + SmallBatchProductOf(s, part, step, e).channel * along_depth;
      uint16_t* to = reinterpret_cast<uint16_t*>(slab) + step * kSmallBatchStep + e;
      for (int n = 0; n < plan.tile.filters; ++n) to[n * row_elements] = k[n * along_columns];
    }
  }
}

void PackBias(const HostTensor& bias, const SmallBatchPlan& plan, int column, char* slab) {
  float* to = reinterpret_cast<float*>(slab + plan.tile.filters * SmallBatchRowBytes(plan.steps));
  const uint16_t* from = static_cast<const uint16_t*>(bias.raw()) + column;
  for (int n = 0; n < plan.tile.filters; ++n) {
    to[n] = bias.dtype() == DType::kF16 ? ToFloat(Float16{from[n]}) : ToFloat(BFloat16{from[n]});
  }
}

int PositionOf(const Value& constant, const Unit& unit) {
  const auto& constants = unit.boundary.constants;
  return static_cast<int>(std::find(constants.begin(), constants.end(), &constant) -
                          constants.begin());
}

}  // namespace

UnitConvs AsConvs(const RowProduct& product) {
  UnitConvs convs;
  convs.convs = {product.product};
  convs.shapes = {product.AsConv()};
  return convs;
}

bool FillsTiles(const SmallBatchPlan& plan) {
  const SmallBatchSource& s = plan.source[0];
  return s.part_channels * plan.tile.split == s.channels &&
         plan.filters[0] % plan.tile.filters == 0;
}

std::vector<SmallBatchPlan> SmallMatMulPlansOf(const Unit& unit, const DeviceInfo& info) {
  std::vector<SmallBatchPlan> plans = SmallBatchPlansOf(AsConvs(RowProductOf(unit)), info);
  std::erase_if(plans, [](const SmallBatchPlan& plan) { return !FillsTiles(plan); });
  return plans;
}

Derived PackSmallMatMulWeights(const RowProduct& matmul, const SmallBatchPlan& plan,
                               const Unit& unit) {
  std::vector<int> from = {PositionOf(matmul.w(), unit)};
  if (matmul.bias != nullptr) from.push_back(PositionOf(*matmul.bias, unit));
  const bool transposed = matmul.has_transposed_weights();
  const int slab_bytes = SmallBatchSlabBytes(plan.tile.filters, plan.steps);
  const int64_t bytes = int64_t{slab_bytes} * plan.first_tile[1] * plan.tile.split;
  const auto make = [=](absl::Span<const HostTensor> sources) -> absl::StatusOr<HostTensor> {
    HostTensor slabs = HostTensor::Allocate(DType::kU8, {bytes});
    char* slab = static_cast<char*>(slabs.mutable_raw());
    std::memset(slab, 0, static_cast<size_t>(bytes));
    for (int tile = 0; tile < plan.first_tile[1]; ++tile) {
      const int column = tile * plan.tile.filters;
      for (int part = 0; part < plan.tile.split; ++part, slab += slab_bytes) {
        PackWeights(sources[0], transposed, plan, column, part, slab);
        if (sources.size() > 1) PackBias(sources[1], plan, column, slab);
      }
    }
    return slabs;
  };
  const std::string recipe =
      absl::StrCat("small_batch_matmul ", plan.tile.ToString(), transposed ? " transposed" : "",
                   matmul.bias != nullptr ? " bias" : "");
  return {.from = from, .recipe = recipe, .to = Format::RowMajor({bytes}), .make = make};
}

// Products of few rows with a constant matrix, in f16 or bf16, under programmatic dependent launch:
// Gemm and MatMul with a bias per column, a residual of the result's type and an activation, on
// tensor cores by the code of small_batch_conv. A block loads its weights before the wait for the
// preceding launch. Depths a multiple of 16 and columns of 32. Its variants are tiles and splits of
// the depth over a cluster. Alone it is slower than cuDNN unless the depth is large (rivals, as
// above); in a network its launch and the fetch of its weights overlap with the Step before.
Kernel SmallBatchMatMulKernel() {
  return {.ops = {"Gemm", "MatMul"},
          .types = kTensorCoreTypes,
          .needs = kClusters,
          .takes = TakesProduct,
          .fits = FitsATile,
          .growth = Growth,
          .us = Us,
          .beyond_fit = HasManyRows,
          .variants = Variants};
}

}  // namespace onnx_cudnn
