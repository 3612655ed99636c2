#include "runtime/kernels/cuda/gemm/gemv.h"

#include <algorithm>
#include <cstddef>

#include "runtime/base/integers.h"
#include "runtime/kernels/cuda/gemm/gemv_nodes.h"

namespace onnx_cudnn {
namespace {

constexpr int kWarp = 32;
constexpr int kVectorBytes = 16;  // of one column per load of a thread

// As few passes over the depth as possible, with as few warps as they need. If a multiprocessor
// runs several blocks, one loads while another sums.
int WarpsOf(const GemvParameters& p, int element_bytes, bool is_alone) {
  const int parts = CeilDiv(p.depth, kVectorBytes / element_bytes * kWarp);
  const int most = is_alone ? GemvMostWarps(p.rows) : kGemvMostWarps / 2;
  const int rounds = std::max(CeilDiv(parts, most), 1);
  const int results = kGemvColumns * (p.rows > 4 ? kGemvMostRows : p.rows);
  return std::max(CeilDiv(parts, rounds), CeilDiv(results, kWarp));
}

}  // namespace

// Products with few rows, see ../gemv.cc.
absl::StatusOr<KernelCode> CompileGemv(const KernelRequest& request) {
  const GemvNodes nodes = ReadGemv(request.unit);
  Operands operands(request);
  // Input of a Cast or the product.
  const KernelOperand x = operands.Of(request.unit.node().input(0));
  const KernelOperand y = operands.Of(*request.unit.boundary.outputs[0]);
  const DType dtype = nodes.dtype();
  GemvParameters p{};
  p.columns = static_cast<int>(y.dims().back());
  p.rows = static_cast<int>(y.value->elements() / p.columns);
  p.depth = static_cast<int>(x.dims().back());
  p.epilogue = nodes.epilogue;
  const int blocks = CeilDiv(p.columns, kGemvColumns);
  const int warps = WarpsOf(p, BitsOf(dtype) / 8, blocks <= request.target.info.multiprocessors);
  const LaunchShape shape{.grid = {static_cast<unsigned>(blocks)},
                          .block = {static_cast<unsigned>(warps * kWarp)}};
  KernelCall call = GemvCall(dtype, x.dtype(), shape, p);
  call.next_uses_pdl_at = offsetof(GemvParameters, next_uses_pdl);
  call.Bind(offsetof(GemvParameters, x), x.slot);
  nodes.Bind(call, offsetof(GemvParameters, w), offsetof(GemvParameters, epilogue), operands);
  return OneCall(std::move(call), operands);
}

}  // namespace onnx_cudnn
