#include "runtime/kernels/cuda/gemm/gemv_mma.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/gemm/gemv_mma_weights.h"
#include "runtime/kernels/gemm/gemv.h"
#include "runtime/kernels/gemm/gemv_mma.h"

namespace onnx_cudnn {
namespace {

using Parameters = GemvMmaParameters;

constexpr int kWarp = 32;
constexpr int kFewestWarps = 4;
constexpr int kSumsOfTile = kGemvMmaTile * kGemvMmaRows;  // of one mma.sync

// The operands of a Unit that the rules accept.
struct Nodes {
  std::vector<const Node*> products;  // two: gated ones, the gate first
  const Value* bias = nullptr;
  const Value* residual = nullptr;
  const Value* y = nullptr;
};

// Sets the parts of the formula that are Nodes; false: an activation that there is no code for.
bool ReadNodes(const Unit& unit, Nodes& nodes, Parameters& p) {
  nodes.y = unit.boundary.outputs[0];
  p.y_dtype = nodes.y->dtype();
  const Value* at = nullptr;  // the result so far
  for (const Node* node : unit.nodes) {
    const bool is_of_weights = node->op() == "DequantizeLinear" || node->op() == "Transpose";
    if (is_of_weights) continue;
    if (IsGemv(*node)) {
      nodes.products.push_back(node);
      if (node->has_input(2)) nodes.bias = &node->input(2);
    } else if (node->op() == "Add") {
      const Value& other = node->input(&node->input(0) == at ? 1 : 0);
      const bool is_residual = !other.is_constant();
      (is_residual ? nodes.residual : nodes.bias) = &other;
      if (at == &nodes.products[0]->output(0))
        p.rounds_product = !is_residual || nodes.bias == nullptr;
      if (is_residual) p.rounds_biased = nodes.bias != nullptr;
    } else if (node->op() != "Cast" && node->op() != "Mul") {
      p.activation = ActivationOf(*node);
      if (p.activation.kind == Activation::Kind::kNone) return false;
    }
    at = &node->output(0);
  }
  p.matrices = static_cast<int>(nodes.products.size());
  if (p.matrices == 2) {
    p.rounds_product = true;
    const bool is_gate_first = FindGated(*nodes.products[0]).gate != nullptr;
    if (!is_gate_first) std::swap(nodes.products[0], nodes.products[1]);
  }
  return true;
}

// Several small blocks of a multiprocessor load while others sum; few blocks need many warps.
int WarpsOf(int blocks, int tiles, int steps, int multiprocessors) {
  const int most = tiles == 4 ? kGemvMmaMostWarps / 2 : kGemvMmaMostWarps;
  const int wanted = std::max(kGemvMmaMostWarps * multiprocessors / std::max(blocks, 1), 1);
  const int warps = std::clamp(static_cast<int>(std::bit_floor(static_cast<unsigned>(wanted))),
                               kFewestWarps, most);
  return std::min(warps, static_cast<int>(std::bit_ceil(static_cast<unsigned>(steps))));
}

// Binds the weights, and with four bits their scales and zero points.
void BindWeights(const Nodes& nodes, bool is_4bit, const Parameters& p, Operands& operands,
                 KernelCall& call) {
  const auto bind = [&](size_t at, Derived packed) {
    call.Bind(at, operands.Constant(std::move(packed)));
  };
  if (!is_4bit) {
    GemvMmaMatrices matrices;
    for (const Node* product : nodes.products) {
      matrices.push_back({operands.PositionOf(product->input(1)), p.columns, p.depth,
                          product->attrs().Int("transB", 0) != 0});
    }
    return bind(offsetof(Parameters, w), PackGemvMma(matrices));
  }
  // Of input i of each DequantizeLinear.
  const auto matrices_of = [&](int i, int depth) {
    GemvMmaMatrices matrices;
    for (const Node* product : nodes.products) {
      const Product4Bit found = Find4Bit(*product);
      matrices.push_back({operands.PositionOf(found.dequantize->input(i)), p.columns, depth,
                          found.depth_is_inner()});
    }
    return matrices;
  };
  ScaleOrder order = {.steps = p.blocks, .each = 1, .repeats = 1};
  if (p.split > 0) {
    const int run = kGemv4BitStep / p.scales_of_step;
    order = {p.steps, p.scales_of_step, std::max((1 << p.log_block) / run, 1)};
  }
  bind(offsetof(Parameters, w), PackGemv4Bit(matrices_of(0, p.depth)));
  bind(offsetof(Parameters, scales), PackGemvScales(matrices_of(1, p.blocks), order));
  if (!Find4Bit(*nodes.products[0]).dequantize->has_input(2)) return;
  Slot zeros = operands.Constant(PackGemvZeros(matrices_of(2, p.blocks), order));
  if (p.split == 0) zeros.offset += kGemvZerosHeader;
  call.Bind(offsetof(Parameters, zeros), zeros);
}

// Sets what weights of four bits need; `split` is 0 for the code of gemv_mma.cu.
void Set4Bit(const Node& product, int split, Parameters& p) {
  const Node& from = *Find4Bit(product).dequantize;
  const auto block = static_cast<unsigned>(from.attrs().Int("block_size", 0));
  p.log_block = std::countr_zero(block);
  p.blocks = CeilDiv(p.depth, static_cast<int>(block));
  p.zero = from.input(0).dtype() == DType::kI4 ? 8 : 0;
  p.split = split;
  p.scales_of_step = block < kGemv4BitStep ? kGemv4BitRuns : 1;
  p.steps = CeilDiv(p.depth, kGemv4BitStep);
  if (split == 0) p.steps *= kGemv4BitStep / kGemvMma4BitStep;
}

// How a launch divides its work.
struct Plan {
  int tiles;  // per block
  int warps;
  LaunchShape shape;
};

Plan PlanOf(const Parameters& p, int columns, int multiprocessors) {
  const int tiles = columns / kGemvMmaTile * p.matrices;
  const int split = std::max(p.split, 1), groups = CeilDiv(p.rows, kGemvMmaRows);  // of rows
  const int blocks = CeilDiv(p.columns, columns) * split;
  int warps = WarpsOf(blocks, tiles, CeilDiv(p.steps, split), multiprocessors);
  if (p.split > 0) warps = std::min(warps, Gemv4BitMostWarps(tiles, groups));
  const int copies = warps + (split > 1 ? 1 : 0);  // of the sums
  return {.tiles = tiles,
          .warps = warps,
          .shape = {.grid = {static_cast<unsigned>(blocks)},
                    .block = {static_cast<unsigned>(warps * kWarp)},
                    .shared_bytes =
                        copies * tiles * groups * kSumsOfTile * static_cast<int>(sizeof(float)),
                    .cluster = split}};
}

absl::StatusOr<KernelCode> Compile(const KernelRequest& request, bool is_4bit) {
  Parameters p{};
  Nodes nodes;
  if (!ReadNodes(request.unit, nodes, p)) {
    return absl::UnimplementedError("it has no code for the activation");
  }
  Operands operands(request);
  const Node& product = *nodes.products[0];
  const KernelOperand x = operands.Of(product.input(0)), y = operands.Of(*nodes.y);
  p.columns = static_cast<int>(product.output(0).dims().back());
  p.rows = static_cast<int>(y.value->elements() / p.columns);
  p.depth = static_cast<int>(x.dims().back());
  p.steps = CeilDiv(p.depth, kGemvMmaStep);
  const int multiprocessors = request.target.info.multiprocessors;
  int columns = GemvMmaColumns(p.rows, p.columns, p.matrices, multiprocessors)[0];
  const std::optional<Gemv4BitTile> tile =
      is_4bit ? Gemv4BitTileOf(request.unit, request.target.info, request.variant) : std::nullopt;
  if (is_4bit) Set4Bit(product, tile.has_value() ? tile->split : 0, p);
  if (tile.has_value()) {
    columns = tile->columns;
  } else if (!request.variant.empty() && !absl::SimpleAtoi(request.variant, &columns)) {
    return absl::InternalError(absl::StrCat("variant ", request.variant));
  }
  const Plan plan = PlanOf(p, columns, multiprocessors);
  KernelCall call = tile.has_value() ? Gemv4BitCall(x.dtype(), plan.tiles, plan.shape, p)
                                     : GemvMmaCall(x.dtype(), is_4bit, plan.tiles, plan.shape, p);
  call.next_uses_pdl_at = offsetof(Parameters, next_uses_pdl);
  call.Bind(offsetof(Parameters, x), x.slot).Bind(offsetof(Parameters, y), y.slot);
  BindWeights(nodes, is_4bit, p, operands, call);
  const auto bind = [&](size_t at, const Value* v) {
    if (v != nullptr) call.Bind(at, operands.Of(*v).slot);
  };
  bind(offsetof(Parameters, bias), nodes.bias);
  bind(offsetof(Parameters, residual), nodes.residual);
  return OneCall(std::move(call), operands);
}

}  // namespace

// Products of up to 16 rows, see ../../gemm/gemv_mma.cc.
absl::StatusOr<KernelCode> CompileGemvMma(const KernelRequest& request) {
  return Compile(request, /*is_4bit=*/false);
}

absl::StatusOr<KernelCode> CompileGemv4Bit(const KernelRequest& request) {
  return Compile(request, /*is_4bit=*/true);
}

}  // namespace onnx_cudnn
