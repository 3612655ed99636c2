#include "runtime/kernels/gemm/small_batch_matmul.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/kernels/common/joins.h"
#include "runtime/kernels/common/layouts.h"
#include "runtime/kernels/conv/conv_shapes.h"
#include "runtime/kernels/conv/small_batch_conv_cost.h"
#include "runtime/kernels/gemm/gemv.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;  // of x and y: offsets are 32 bits
constexpr int64_t kLeastColumns = 32;                // of a tile

constexpr Rule kNotInFormula = {
    "it computes activation(x·w + bias + residual), with any part absent",
    "none: cuDNN's epilogues take more"};
constexpr Rule kOneResult = {"it writes one result, and this value has other readers",
                             "none: the value is written, and read again"};

int64_t DepthOf(const Node& product) {
  const Value& x = product.input(0);
  return x.dim(x.rank() - 1);
}
int64_t ColumnsOf(const Node& product) {
  const Value& y = product.output(0);
  return y.dim(y.rank() - 1);
}
int64_t RowsOf(const Node& product) { return product.output(0).elements() / ColumnsOf(product); }

// The operand of an Add that is not `edge`.
const Value& Addend(const Node& add, const Value& edge) {
  return add.input(&add.input(0) == &edge ? 1 : 0);
}

Support CheckMatrix(const Node& product) {
  const Value& w = product.input(1);
  if (!w.is_constant() || w.rank() != 2) {
    return Support::No(absl::StrCat(w.name(), " is not a constant matrix"));
  }
  const Attrs& attrs = product.attrs();
  if (attrs.Int("transA", 0) != 0) return Support::No("its input 0 is transposed");
  if (attrs.Float("alpha", 1) != 1 || attrs.Float("beta", 1) != 1) {
    return Support::No("alpha or beta is not 1");
  }
  if (!product.has_input(2) || IsBias(product.input(2), product.output(0))) return Support::Yes();
  return Support::No(
      absl::StrCat(product.input(2).name(), " is not a constant of one number a column"));
}

Support TakesProduct(const Unit& core) {
  const Node& product = core.node();
  if (Support s = CheckMatrix(product); !s) return s;
  const Value &x = product.input(0), &y = product.output(0);
  if (y.elements() == 0 || x.elements() == 0) return Support::No("an operand is empty");
  if (std::max(x.elements(), y.elements()) >= kMostElements) {
    return Support::No("an operand has 2^31 elements or more");
  }
  const int64_t depth = DepthOf(product), columns = ColumnsOf(product);
  if (depth % kSmallBatchStep == 0 && columns % kLeastColumns == 0) return Support::Yes();
  return Support::No(absl::StrCat("its depth ", depth, " is no multiple of 16 or its ", columns,
                                  " columns are none of 32"));
}

const Rule* JoinsFormula(const GrowthStep& step) {
  if (const Rule* no = JoinsAsReader(step)) return no;
  if (!step.edge.has_one_use()) return &kOneResult;
  const SmallMatMul so_far = SmallMatMulOf(UnitOf({step.nodes.begin(), step.nodes.end()}));
  if (so_far.activation != nullptr) return &kNotInFormula;
  if (step.node.output(0).dtype() != step.edge.dtype()) return &kNotInFormula;
  if (step.node.op() != "Add") return step.node.inputs().size() == 1 ? nullptr : &kNotInFormula;
  const Value& addend = Addend(step.node, step.edge);
  if (IsBias(addend, step.edge)) {
    return so_far.bias == nullptr && so_far.residual == nullptr ? nullptr : &kNotInFormula;
  }
  const bool is_residual =
      so_far.residual == nullptr && &addend != &step.edge && addend.type() == step.edge.type();
  return is_residual ? nullptr : &kNotInFormula;
}

GrowthOptions Growth(const Unit&) { return {.forward = JoinsFormula}; }

Support FitsATile(const Unit& unit, const DeviceInfo& info) {
  if (!SmallMatMulPlansOf(unit, info).empty()) return Support::Yes();
  return Support::No("no tile holds its depth in shared memory");
}

// Every block keeps all of its depth in shared memory. From 197 rows on libraries, whose blocks
// read each weight for more rows, are up to three times as fast
// (tools/bench/results/rivals-2026-11-26-fa82715.json).
constexpr int64_t kFittedRows = 128;

bool HasManyRows(const Unit& unit, const DeviceInfo&) {
  return RowsOf(*SmallMatMulOf(unit).product) > kFittedRows;
}

double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const Node& product = *SmallMatMulOf(unit).product;
  const std::optional<double> us = SmallBatchConvUs({.pixels = RowsOf(product),
                                                     .filters = ColumnsOf(product),
                                                     .depth = DepthOf(product),
                                                     .has_prologue = false},
                                                    target.info);
  constexpr double kNoTile = 10;  // factor on the roofline
  return std::max(us.value_or(kNoTile * roofline.us), roofline.us);
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

bool SmallMatMul::has_transposed_weights() const {
  return product->op() == "Gemm" && product->attrs().Int("transB", 0) != 0;
}

SmallMatMul SmallMatMulOf(const Unit& unit) {
  SmallMatMul found;
  for (const Node* node : unit.nodes) {
    if (IsGemv(*node)) {
      found.product = node;
      if (node->has_input(2)) found.bias = &node->input(2);
    } else if (node->op() == "Add") {
      const Value& addend = Addend(*node, *found.y);
      (IsBias(addend, *found.y) ? found.bias : found.residual) = &addend;
    } else {
      found.activation = node;
    }
    found.y = &node->output(0);
  }
  return found;
}

UnitConvs AsConv(const SmallMatMul& matmul) {
  const Node& product = *matmul.product;
  ConvShape shape{.images = 1, .channels = DepthOf(product), .filters = ColumnsOf(product)};
  shape.window.axes.back() = {.in = RowsOf(product), .out = RowsOf(product)};
  UnitConvs convs;
  convs.convs = {&product};
  convs.shapes = {shape};
  return convs;
}

bool FillsTiles(const SmallBatchPlan& plan) {
  const SmallBatchSource& s = plan.source[0];
  return s.part_channels * plan.tile.split == s.channels &&
         plan.filters[0] % plan.tile.filters == 0;
}

std::vector<SmallBatchPlan> SmallMatMulPlansOf(const Unit& unit, const DeviceInfo& info) {
  std::vector<SmallBatchPlan> plans = SmallBatchPlansOf(AsConv(SmallMatMulOf(unit)), info);
  std::erase_if(plans, [](const SmallBatchPlan& plan) { return !FillsTiles(plan); });
  return plans;
}

Derived PackSmallMatMulWeights(const SmallMatMul& matmul, const SmallBatchPlan& plan,
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
  return {.name = "small_batch_matmul",
          .ops = {"Gemm", "MatMul"},
          .types = kTensorCoreTypes,
          .needs = kClusters,
          .takes = TakesProduct,
          .fits = FitsATile,
          .growth = Growth,
          .formats = RowMajorOnly,
          .us = Us,
          .beyond_fit = HasManyRows,
          .variants = Variants};
}

}  // namespace onnx_cudnn
