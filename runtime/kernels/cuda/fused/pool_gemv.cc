#include "runtime/kernels/cuda/fused/pool_gemv.h"

#include <cstddef>

#include "runtime/base/integers.h"
#include "runtime/kernels/cuda/gemm/gemv_nodes.h"

namespace onnx_cudnn {
namespace {

constexpr int kWarp = 32;

}  // namespace

// A pooling and a product with few rows, see ../pool_gemv.cc.
absl::StatusOr<KernelCode> CompilePoolGemv(const KernelRequest& request) {
  const GemvNodes nodes = ReadGemv(request.unit);
  Operands operands(request);
  const KernelOperand x = operands.Of(*request.unit.boundary.inputs[0]);
  const Dims dims = x.dims();
  PoolGemvParameters p{};
  p.images = static_cast<int>(dims[0]);
  p.pixels = static_cast<int>(x.value->elements() / (dims[0] * dims[1]));
  p.columns = static_cast<int>(nodes.y->dims().back());
  p.vectors = static_cast<int>(dims[1] / kPoolGemvVector);
  p.share = CeilDiv(p.vectors, kPoolGemvBlocks);
  while (p.share > 1 << (kPoolGemvLogVectors + p.log_parts)) ++p.log_parts;
  p.warps = FastDivide<uint32_t>(kPoolGemvWarps / p.images);
  p.epilogue = nodes.epilogue;
  const int clusters = CeilDiv(p.columns, PoolGemvColumns(p.log_parts));
  const LaunchShape shape{.grid = {static_cast<unsigned>(clusters * kPoolGemvBlocks)},
                          .block = {kPoolGemvWarps * kWarp},
                          .cluster = kPoolGemvBlocks};
  KernelCall call = PoolGemvCall(x.dtype(), shape, p);
  call.next_uses_pdl_at = offsetof(PoolGemvParameters, next_uses_pdl);
  call.Bind(offsetof(PoolGemvParameters, x), x.slot);
  nodes.Bind(call, offsetof(PoolGemvParameters, w), offsetof(PoolGemvParameters, epilogue),
             operands);
  return OneCall(std::move(call), operands);
}

}  // namespace onnx_cudnn
