#include "runtime/kernels/cuda/attention/decode_attention.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/attention/decode_attention.h"
#include "runtime/kernels/cuda/common/operands.h"

namespace onnx_cudnn {
namespace {

constexpr float kLog2E = 1.44269504F;
static_assert(kDecodeRows == kDecodeTileRows);

}  // namespace

// Few queries over a cache of keys and values, see ../attention/decode_attention.cc.
absl::StatusOr<KernelCode> CompileDecodeAttention(const KernelRequest& request) {
  using Parameters = DecodeAttentionParameters;
  const DecodeAttention attention = ReadDecodeAttention(request.unit.nodes);
  const Node& node = *attention.node;
  Parameters p{};
  p.rows = static_cast<int>(attention.rows);
  p.keys = static_cast<int>(attention.keys);
  p.tiles = static_cast<int>(attention.tiles());
  p.splits = static_cast<int>(DecodeSplits(attention, request.target.info));
  p.kv_heads = static_cast<int>(attention.kv_heads);
  p.all_rows = static_cast<int>(attention.batch * attention.kv_heads * attention.rows);
  p.log2_scale = attention.scale * kLog2E;
  if (attention.table != nullptr) {
    p.pages = {.table = {.is_wide = attention.table->dtype() == DType::kI64},
               .page = FastDivide<uint32_t>(attention.k->dim(1)),
               .each = attention.table->dim(1),
               .pages = attention.k->dim(0)};
  }

  Operands operands(request);
  const KernelOperand y = operands.Of(node.output(0));
  const int channels = static_cast<int>(attention.channels);
  const int64_t sum_bytes = int64_t{p.splits} * p.all_rows * channels * int64_t{sizeof(float)};
  KernelCode code;
  code.calls.push_back(DecodeAttentionCall(y.dtype(), channels, p));
  code.calls[0]
      .Bind(offsetof(Parameters, q), operands.Of(node.input(0)).slot)
      .Bind(offsetof(Parameters, k), operands.Of(*attention.k).slot)
      .Bind(offsetof(Parameters, v), operands.Of(*attention.v).slot);
  if (attention.table != nullptr) {
    code.calls[0]
        .Bind(offsetof(Parameters, pages) + offsetof(DecodePages, table) + offsetof(Integers, at),
              operands.Of(*attention.table).slot)
        .Bind(offsetof(Parameters, pages) + offsetof(DecodePages, fault), Slot::Fault());
    code.fault = [pages = p.pages.pages](uint64_t word) {
      return absl::InvalidArgumentError(
          absl::StrCat("Attention: a table names page ", FaultOf(word).number, " of ", pages));
    };
  }
  if (attention.lengths != nullptr) {
    code.calls[0].Bind(offsetof(Parameters, lengths), operands.Of(*attention.lengths).slot);
  }
  if (p.splits > 1) {
    code.calls.push_back(CombineSplitsCall(y.dtype(), channels, p));
    code.workspace_bytes = sum_bytes + int64_t{p.splits} * p.all_rows * 2 * int64_t{sizeof(float)};
    for (KernelCall& call : code.calls) {
      call.Bind(offsetof(Parameters, sums), Slot::Workspace())
          .Bind(offsetof(Parameters, weights), Slot::Workspace(sum_bytes));
    }
  }
  code.calls.back().Bind(offsetof(Parameters, y), y.slot);
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn
