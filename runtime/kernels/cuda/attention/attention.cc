#include "runtime/kernels/cuda/attention/attention.h"

#include <cstddef>

#include "runtime/base/integers.h"
#include "runtime/kernels/attention/attention.h"
#include "runtime/kernels/cuda/common/operands.h"

namespace onnx_cudnn {
namespace {

constexpr int kWarp = 32;
static_assert(kAttentionThreads == kAttentionWarps * kWarp);
constexpr int kVectorBytes = 16;

int64_t TilesOf(const AttentionNodes& nodes, int rows) {
  return CeilDiv(nodes.queries(), int64_t{kAttentionWarps} * rows);
}

// The queries of a warp share loads of k and v; a warp computes many only if enough warps remain
// for all multiprocessors.
int RowsOf(const AttentionNodes& nodes, const DeviceInfo& info) {
  const bool fits = MemoryOf(nodes, kAttentionManyRows).bytes <= kAttentionMostSharedBytes;
  const bool are_many = nodes.heads() * TilesOf(nodes, kAttentionManyRows) >= info.multiprocessors;
  return fits && are_many ? kAttentionManyRows : 1;
}

void ReadMask(const KernelOperand& mask, const Dims& dims, AttentionParameters& p) {
  const Strides strides = BroadcastStrides(mask, dims);
  p.batch_rank = strides.rank - 2;
  for (int i = 0; i < p.batch_rank; ++i) {
    p.batch[i] = FastDivide<uint32_t>(dims[i]);
    p.mask_batch[i] = strides.strides[i];
  }
  p.mask_query = strides.strides[p.batch_rank];
  p.mask_key = strides.strides[p.batch_rank + 1];
}

}  // namespace

// Attention over few keys, see ../attention.cc.
absl::StatusOr<KernelCode> CompileAttention(const KernelRequest& request) {
  const AttentionNodes nodes = ReadAttention(request.unit.nodes);
  const int rows = RowsOf(nodes, request.target.info);
  const AttentionMemory memory = MemoryOf(nodes, rows);
  const int64_t tiles = TilesOf(nodes, rows);
  const int64_t k_row = nodes.keys_are_rows ? nodes.depth() : nodes.keys();
  AttentionParameters p{};
  p.queries = static_cast<int>(nodes.queries());
  p.keys = static_cast<int>(nodes.keys());
  p.depth = static_cast<int>(nodes.depth());
  p.columns = static_cast<int>(nodes.columns());
  p.scale = nodes.scale;
  p.empty_rows_are_zero = nodes.is_one_op();
  while (1 << p.log_columns < p.columns && 1 << p.log_columns < kWarp) ++p.log_columns;
  p.tiles = FastDivide<uint32_t>(tiles);
  p.k_row = FastDivide<uint32_t>(k_row);
  const int pitch = static_cast<int>(memory.k_pitch);
  p.k_pitch = memory.k_pitch == k_row ? 0 : pitch;
  p.key_step = nodes.keys_are_rows ? pitch : 1;
  p.channel_step = nodes.keys_are_rows ? 1 : pitch;
  p.scores_at = static_cast<int>(memory.scores_at);
  p.k_at = static_cast<int>(memory.k_at);
  p.v_at = static_cast<int>(memory.v_at);

  Operands operands(request);
  const KernelOperand y = operands.Of(*nodes.y);
  const int64_t vector = kVectorBytes / y.element_bytes();
  const bool is_wide =
      nodes.keys() * nodes.depth() % vector == 0 && nodes.keys() * nodes.columns() % vector == 0;
  const LaunchShape shape{.grid = {static_cast<unsigned>(nodes.heads() * tiles)},
                          .block = {kAttentionThreads},
                          .shared_bytes = static_cast<int>(memory.bytes)};
  if (nodes.mask != nullptr) {
    p.mask_is_f32 = nodes.mask->dtype() != y.dtype();
    ReadMask(operands.Of(*nodes.mask), nodes.scores, p);
  }
  KernelCall call = AttentionCall(y.dtype(), shape, p, rows, is_wide);
  call.Bind(offsetof(AttentionParameters, q), operands.Of(*nodes.q).slot)
      .Bind(offsetof(AttentionParameters, k), operands.Of(*nodes.k).slot)
      .Bind(offsetof(AttentionParameters, v), operands.Of(*nodes.v).slot)
      .Bind(offsetof(AttentionParameters, y), y.slot);
  if (nodes.mask != nullptr) {
    call.Bind(offsetof(AttentionParameters, mask), operands.Of(*nodes.mask).slot);
  }
  return OneCall(std::move(call), operands);
}

}  // namespace onnx_cudnn
