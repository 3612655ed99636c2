#include "runtime/kernels/gemm/gemv_mma.h"

#include <algorithm>
#include <bit>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/joins.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/kernels/conv/conv_shapes.h"
#include "runtime/kernels/gemm/gemv.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostRows = 16;
constexpr int64_t kDepthMultiple = 8;  // elements of x in 16 bytes
constexpr int64_t kMostExtent = 1 << 30;
constexpr int kWideColumns = 64, kColumns = 32, kNarrowColumns = 16;
constexpr int64_t kSmallestBlock = 32, k4BitStep = 128;  // of gemv_4bit.cu, along K
constexpr Capability kMma = {.compute_capability = 80, .because = "mma.sync m16n8k16"};

constexpr Rule kNotInFormula = {
    "it computes cast(activation(x·w + bias + residual)), with any part absent, or "
    "cast(activation(x·w) · (x·v))",
    "none: cuDNN's epilogues take more"};

const Node& ProductOf(absl::Span<const Node* const> nodes) {
  return **std::find_if(nodes.begin(), nodes.end(), [](const Node* n) { return IsGemv(*n); });
}

// Whether a unary Node is one that activation.cuh computes.
bool IsActivation(const Node& node) {
  static constexpr std::string_view kOps[] = {"Gelu", "HardSigmoid", "HardSwish", "LeakyRelu",
                                              "Relu", "Sigmoid",     "Softplus",  "Tanh"};
  if (node.op() == "Swish") return node.attrs().Float("alpha", 1) == 1;
  return std::find(std::begin(kOps), std::end(kOps), node.op()) != std::end(kOps);
}

int CountProducts(absl::Span<const Node* const> nodes) {
  return static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [](const Node* n) { return IsGemv(*n); }));
}

// Position in the formula; -1: none. `edge` is what the Node reads of the Unit.
int PlaceOf(const Node& node, const Value* edge) {
  if (IsGemv(node)) return 0;
  if (node.op() == "Add") return IsBias(Addend(node, *edge), node.output(0)) ? 1 : 2;
  if (IsActivation(node)) return 3;
  return node.op() == "Cast" && kFloatTypes.Has(node.output(0).dtype()) &&
                 node.output(0).dtype() != DType::kF64
             ? 4
             : -1;
}

// What `node`, which is in the Unit, reads of it.
const Value* EdgeOf(const Node& node, absl::Span<const Node* const> nodes) {
  for (const Value* input : node.inputs()) {
    if (input != nullptr && input->producer() != nullptr && Contains(nodes, input->producer())) {
      return input;
    }
  }
  return nullptr;
}

const Rule* JoinsEpilogue(const GrowthStep& step) {
  if (const Rule* no = JoinsAsReader(step)) return no;
  if (!step.edge.has_one_use()) return &kWritesOneResult;
  const Node& before = *step.edge.producer();
  const int place = PlaceOf(step.node, &step.edge);
  // The Mul of gated products stands where the activation does.
  const int last = before.op() == "Mul" ? 3 : PlaceOf(before, EdgeOf(before, step.nodes));
  if (place <= last) return &kNotInFormula;
  if (step.node.op() != "Add") return nullptr;
  if (place == 1) return ProductOf(step.nodes).has_input(2) ? &kNotInFormula : nullptr;
  const Value& other = Addend(step.node, step.edge);
  const bool is_residual = !other.is_constant() && other.is_static() &&
                           other.dtype() == step.edge.dtype() && other.dims() == step.edge.dims();
  return is_residual ? nullptr : &kNotInFormula;
}

// Whether the rows, the result and the bias of a product allow it; `columns` by `depth` weights.
Support CheckOperandsOf(const Node& product, int64_t depth) {
  const Value& y = product.output(0);
  if (Support s = CheckUnscaled(product); !s) return s;
  if (y.elements() == 0) return Support::No("its result is empty");
  const int64_t rows = y.elements() / y.dim(y.rank() - 1);
  if (rows > kMostRows) {
    return Support::No(absl::StrCat(rows, " rows are more than ", kMostRows));
  }
  if (depth % kDepthMultiple != 0) {
    return Support::No(absl::StrCat("a depth of ", depth, " is no multiple of 16 bytes"));
  }
  if (std::max(depth, y.dim(y.rank() - 1)) > kMostExtent) return Support::No("it is too large");
  return CheckBias(product);
}

int64_t DepthOf(const Node& product) { return product.input(0).dim(product.input(0).rank() - 1); }

// Two products become one launch if they are alike.
Support CheckGated(const GatedProducts& gated) {
  const Node &gate = *gated.gate, &up = *gated.up;
  if (gate.has_input(2) || up.has_input(2)) return Support::No("one of two products has a bias");
  if (gate.output(0).dims() == up.output(0).dims()) return Support::Yes();
  return Support::No("the two products differ in shape");
}

Support CheckEach(const Unit& core, Support (*check)(const Node& product)) {
  for (const Node* node : core.nodes) {
    if (!IsGemv(*node)) continue;
    if (Support s = check(*node); !s) return s;
  }
  if (CountProducts(core.nodes) == 1) return Support::Yes();
  return CheckGated(FindGated(ProductOf(core.nodes)));
}

Support TakesProduct(const Unit& core) {
  return CheckEach(core, [](const Node& product) {
    if (Support s = CheckConstantMatrix(product); !s) return s;
    return CheckOperandsOf(product, DepthOf(product));
  });
}

Support Check4Bit(const Node& product) {
  const Product4Bit found = Find4Bit(product);
  const Node& dequantize = *found.dequantize;
  const Value &w = dequantize.input(0), &scale = dequantize.input(1);
  const int64_t block = dequantize.attrs().Int("block_size", 0);
  const int64_t axis = dequantize.attrs().Int("axis", 1);
  const int64_t depth_axis = found.depth_is_inner() ? 1 : 0;
  if ((axis < 0 ? axis + 2 : axis) != depth_axis || block < kDepthMultiple ||
      !std::has_single_bit(static_cast<uint64_t>(block))) {
    return Support::No(
        absl::StrCat("its scales are not those of blocks of 8, 16, 32 and so on "
                     "along the depth: axis ",
                     axis, ", block_size ", block));
  }
  if (!scale.is_constant() || scale.dtype() != product.input(0).dtype() || scale.rank() != 2) {
    return Support::No(
        absl::StrCat(scale.name(), " is no constant matrix of the type of the rows"));
  }
  if (dequantize.has_input(2) && !dequantize.input(2).is_constant()) {
    return Support::No(absl::StrCat(dequantize.input(2).name(), " is not a constant"));
  }
  return CheckOperandsOf(product, w.dim(static_cast<int>(depth_axis)));
}

// Both have scales of the same blocks, and both or neither zero points of the same type.
Support CheckAlike(const Node& gate, const Node& up) {
  const Node &a = *Find4Bit(gate).dequantize, &b = *Find4Bit(up).dequantize;
  const bool alike = a.attrs().Int("block_size", 0) == b.attrs().Int("block_size", 0) &&
                     a.input(0).dtype() == b.input(0).dtype() && a.has_input(2) == b.has_input(2);
  return alike ? Support::Yes() : Support::No("the two products are quantized differently");
}

Support TakesProduct4Bit(const Unit& core) {
  if (Support s = CheckEach(core, Check4Bit); !s) return s;
  if (CountProducts(core.nodes) == 1) return Support::Yes();
  const GatedProducts gated = FindGated(ProductOf(core.nodes));
  return CheckAlike(*gated.gate, *gated.up);
}

using NodeList = std::vector<const Node*>;

// The product, and with it the others of gated ones; `with_weights` gives a product with the Nodes
// of its weights, or nothing if they are of another kind.
std::vector<NodeList> CoresOf(const Node& product, NodeList (*with_weights)(const Node& product)) {
  NodeList own = with_weights(product);
  if (own.empty()) return {};
  std::vector<NodeList> cores = {own};
  const GatedProducts gated = FindGated(product);
  if (gated.gate == nullptr) return cores;
  const NodeList other = with_weights(*gated.up);
  if (other.empty()) return cores;
  own.insert(own.end(), other.begin(), other.end());
  own.insert(own.end(), {gated.activation, gated.mul});
  cores.push_back(std::move(own));
  return cores;
}

std::vector<NodeList> Cores(const Node& product) {
  return CoresOf(product, [](const Node& p) { return NodeList{&p}; });
}

std::vector<NodeList> Cores4Bit(const Node& product) {
  return CoresOf(product, [](const Node& p) -> NodeList {
    const Product4Bit found = Find4Bit(p);
    if (found.dequantize == nullptr) return {};
    if (found.transpose == nullptr) return {found.dequantize, &p};
    return {found.dequantize, found.transpose, &p};
  });
}

// Bound by the bytes of the weights; sums take no time beside them.
double Us(const Unit&, const Cost& roofline, const Target& target) {
  const auto& calibration = target.info.calibration.kernels.gemv;
  return calibration.fixed_us + static_cast<double>(roofline.bytes) / calibration.bytes_per_us;
}

std::vector<std::string> Variants(const Unit& unit, const Target& target) {
  const Value& y = *unit.boundary.outputs[0];
  const int64_t columns = y.dim(y.rank() - 1);
  std::vector<std::string> variants;
  for (const int each : GemvMmaColumns(y.elements() / columns, columns, CountProducts(unit.nodes),
                                       target.info.multiprocessors)) {
    variants.push_back(absl::StrCat(each));
  }
  return variants;
}

constexpr size_t kMost4BitVariants = 5;

std::vector<std::string> Variants4Bit(const Unit& unit, const Target& target) {
  const std::vector<Gemv4BitTile> tiles = Gemv4BitTiles(unit, target.info);
  if (tiles.empty()) return Variants(unit, target);
  std::vector<std::string> variants;
  for (const Gemv4BitTile& tile : tiles) {
    if (variants.size() < kMost4BitVariants) variants.push_back(tile.Text());
  }
  return variants;
}

// Of a block of threads: bytes of weights with their scales, and of the rows from L2, which are
// faster by kL2Share.
double TileUs(const Gemv4BitTile& tile, const Unit& unit, const DeviceInfo& info) {
  constexpr double kBytesOfWeight = 0.5 + 2.0 / 32, kBytesOfElement = 2, kL2Share = 0.6;
  constexpr double kClusterUs = 0.7;  // a guess, as is kL2Share
  const Value& y = *unit.boundary.outputs[0];
  const int64_t all = y.dim(y.rank() - 1), rows = y.elements() / all;
  const int multiprocessors = std::max(info.multiprocessors, 1);
  const double depth = static_cast<double>(DepthOf(ProductOf(unit.nodes))) / tile.split;
  const int64_t blocks = (all + tile.columns - 1) / tile.columns * tile.split;
  const auto rounds = static_cast<double>((blocks + multiprocessors - 1) / multiprocessors);
  const double weights = tile.columns * CountProducts(unit.nodes) * kBytesOfWeight;
  const double bytes =
      rounds * depth * (weights + static_cast<double>(rows) * kBytesOfElement * kL2Share);
  return bytes * multiprocessors / info.bytes_per_us + (tile.split > 1 ? kClusterUs : 0);
}

GrowthOptions Growth(const Unit&) { return {.forward = JoinsEpilogue}; }

}  // namespace

bool Product4Bit::depth_is_inner() const {
  const bool is_turned = transpose != nullptr;
  return is_turned != (product->attrs().Int("transB", 0) != 0);
}

Product4Bit Find4Bit(const Node& product) {
  Product4Bit found{.product = &product};
  const Value* w = &product.input(1);
  if (w->producer() != nullptr && w->producer()->op() == "Transpose" && w->has_one_use()) {
    const std::vector<int64_t> perm = w->producer()->attrs().Ints("perm");
    if (!perm.empty() && perm[0] == 0) return {};
    found.transpose = w->producer();
    w = &found.transpose->input(0);
  }
  const Node* dequantize = w->producer();
  if (dequantize == nullptr || dequantize->op() != "DequantizeLinear" || !w->has_one_use()) {
    return {};
  }
  const Value& stored = dequantize->input(0);
  const bool is_4bit = stored.dtype() == DType::kI4 || stored.dtype() == DType::kU4;
  if (!is_4bit || !stored.is_constant() || stored.rank() != 2) return {};
  found.dequantize = dequantize;
  return found;
}

GatedProducts FindGated(const Node& product) {
  const Node* const activation = product.output(0).only_reader();
  if (activation == nullptr || !IsActivation(*activation)) return {};
  const Node* const mul = activation->output(0).only_reader();
  if (mul == nullptr || mul->op() != "Mul") return {};
  const Node* const up = Addend(*mul, activation->output(0)).producer();
  const bool is_gated = up != nullptr && IsGemv(*up) && up->output(0).only_reader() == mul &&
                        &up->input(0) == &product.input(0);
  if (!is_gated) return {};
  return {.gate = &product, .activation = activation, .up = up, .mul = mul};
}

std::vector<int> GemvMmaColumns(int64_t rows, int64_t columns, int matrices, int multiprocessors) {
  // Code has up to four tiles per block, and needs one of each matrix.
  std::vector<int> order = {kColumns, kWideColumns, kNarrowColumns};
  if (matrices == 2) order = {kNarrowColumns, kColumns};
  if (rows > 8) std::swap(order[0], order[1]);  // more columns per load of the rows
  // Nearly every multiprocessor gets a block.
  const auto fills = [&](int each) {
    return (columns + each - 1) / each >= multiprocessors * 7 / 8;
  };
  std::stable_partition(order.begin(), order.end(), fills);
  if (!fills(order[0])) std::sort(order.begin(), order.end());
  return order;
}

std::string Gemv4BitTile::Text() const { return absl::StrCat(columns, " split=", split); }

std::vector<Gemv4BitTile> Gemv4BitTiles(const Unit& unit, const DeviceInfo& info) {
  const Node& product = ProductOf(unit.nodes);
  if (Find4Bit(product).dequantize->attrs().Int("block_size", 0) < kSmallestBlock) return {};
  const int64_t steps = (DepthOf(product) + k4BitStep - 1) / k4BitStep;
  std::vector<Gemv4BitTile> tiles;
  for (const int columns : {kNarrowColumns, kColumns, kWideColumns}) {
    if (columns * CountProducts(unit.nodes) > kWideColumns) continue;
    for (const int split : {1, 2, 4, 8}) {
      const bool is_cluster = split > 1;
      if (is_cluster && !CheckCapability(kClusters, info)) continue;
      if (split <= std::max<int64_t>(steps, 1)) tiles.push_back({columns, split});
    }
  }
  std::stable_sort(tiles.begin(), tiles.end(), [&](const Gemv4BitTile& a, const Gemv4BitTile& b) {
    return TileUs(a, unit, info) < TileUs(b, unit, info);
  });
  return tiles;
}

std::optional<Gemv4BitTile> Gemv4BitTileOf(const Unit& unit, const DeviceInfo& info,
                                           std::string_view text) {
  for (const Gemv4BitTile& tile : Gemv4BitTiles(unit, info)) {
    if (text.empty() || tile.Text() == text) return tile;
  }
  return std::nullopt;
}

// Products of up to 16 rows of f16 or bf16 with a constant matrix: Gemm and MatMul with one bias
// per column, a residual, an activation and a Cast of the result; or two of the same rows, an
// activation of the first times the second. Weights are stored in the order
// in which the lanes of mma.sync read them, 16 bytes each, and are read once, the first before the
// rows are available. K is split over the warps of a block, whose sums are added in a fixed order.
Kernel GemvMmaKernel() {
  return {.ops = {"Gemm", "MatMul"},
          .types = kTensorCoreTypes,
          .needs = kMma,
          .cores = Cores,
          .takes = TakesProduct,
          .growth = Growth,
          .us = Us,
          .variants = Variants};
}

// The same with weights that DequantizeLinear expands from INT4 or UINT4 in blocks along K: they
// stay in four bits in memory. Blocks of 32 and more are multiplied as integers, in f32 by their
// scale, and the blocks of a cluster may divide K; weights of smaller ones are expanded in
// registers to what DequantizeLinear returns.
Kernel Gemv4BitKernel() {
  Kernel kernel = GemvMmaKernel();
  kernel.fewest_bits_of_constants = 4;
  kernel.cores = Cores4Bit;
  kernel.takes = TakesProduct4Bit;
  kernel.variants = Variants4Bit;
  return kernel;
}

}  // namespace onnx_cudnn
