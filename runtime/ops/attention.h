// The op Attention, for Engines that run it.
#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Its inputs behind q, k and v. Lengths are nonpad_kv_seqlen, i64[batch]: the keys that count.
inline constexpr int kAttentionMask = 3, kAttentionLengths = 6;

// The factor of q·k; `channels`: of a head of q.
float AttentionScale(const Node& attention, int64_t channels);

}  // namespace onnx_cudnn
