#include "runtime/kernels/cuda/gemv.h"

#include <algorithm>
#include <cstddef>

#include "runtime/cuda/repacked.h"
#include "runtime/kernels/cuda/operands.h"

namespace onnx_cudnn {
namespace {

constexpr int kWarp = 32;
constexpr int kVectorBytes = 16;  // a thread's load of a column
constexpr int kLeastOverlapping = 90;

int DivideUp(int n, int each) { return (n + each - 1) / each; }

// As few rounds over the depth as there can be, with as few warps as these need. Where a
// multiprocessor has several blocks, one loads while another sums.
int WarpsOf(const GemvParameters& p, int element_bytes, bool is_alone) {
  const int parts = DivideUp(p.depth, kVectorBytes / element_bytes * kWarp);
  const int most = is_alone ? GemvMostWarps(p.rows) : kGemvMostWarps / 2;
  const int rounds = std::max(DivideUp(parts, most), 1);
  const int results = kGemvColumns * (p.rows > 4 ? kGemvMostRows : p.rows);
  return std::max(DivideUp(parts, rounds), DivideUp(results, kWarp));
}

// The matrix as [columns, depth].
Slot WeightsOf(const Node& product, Operands& operands) {
  const Value& w = product.input(1);
  if (product.op() == "Gemm" && product.attrs().Int("transB", 0) != 0) return operands.Of(w).slot;
  const Format turned = Format::Permuted(w.dims(), {1, 0});
  return operands.Constant(Repacked(operands.PositionOf(w), w.dims(), turned));
}

}  // namespace

// Products of few rows as ../gemv.cc says.
absl::StatusOr<KernelCode> CompileGemv(const KernelRequest& request) {
  const Node* product = nullptr;
  const Value* bias = nullptr;
  GemvParameters p{};
  for (const Node* node : request.unit.nodes) {
    if (node->op() == "Gemm" || node->op() == "MatMul") {
      product = node;
      if (node->has_input(2)) bias = &node->input(2);
    } else if (node->op() == "Add") {
      bias = &node->input(node->input(0).is_constant() ? 0 : 1);
      p.rounds_product = true;
    }
    if (node->op() == "Relu") p.has_relu = true;
  }
  Operands operands(request);
  const Boundary& boundary = request.unit.boundary;
  const KernelOperand x = operands.Of(request.unit.node().input(0));  // of a Cast or the product
  const KernelOperand y = operands.Of(*boundary.outputs[0]);
  const DType dtype = product->input(1).dtype();
  p.columns = static_cast<int>(y.dims().back());
  p.rows = static_cast<int>(y.value->elements() / p.columns);
  p.depth = static_cast<int>(x.dims().back());
  p.y_dtype = y.dtype();
  const DeviceInfo& info = request.target.info;
  const int blocks = DivideUp(p.columns, kGemvColumns);
  const int warps = WarpsOf(p, BitsOf(dtype) / 8, blocks <= info.multiprocessors);
  const LaunchShape shape{.grid = {static_cast<unsigned>(blocks)},
                          .block = {static_cast<unsigned>(warps * kWarp)},
                          .overlaps = info.compute_capability >= kLeastOverlapping};
  KernelCall call = GemvCall(dtype, x.dtype(), shape, p);
  call.Bind(offsetof(GemvParameters, x), x.slot)
      .Bind(offsetof(GemvParameters, w), WeightsOf(*product, operands))
      .Bind(offsetof(GemvParameters, y), y.slot);
  if (bias != nullptr) call.Bind(offsetof(GemvParameters, bias), operands.Of(*bias).slot);
  KernelCode code;
  code.calls.push_back(std::move(call));
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn
