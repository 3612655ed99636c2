#include "runtime/kernels/attention/decode_attention.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/attention.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostKeys = int64_t{1} << 30;
constexpr int64_t kMostBlocks = 65535;  // along y of a grid
constexpr int64_t kBlocksPerMultiprocessor = 4;
// Beyond it the products of every tile, not the bytes of the cache, take the time.
constexpr int64_t kFewQueries = 8;

Support Takes(const Unit& core) {
  const Node& node = core.node();
  if (node.attrs().Int("is_causal", 0) != 0) return Support::No("it is causal");
  if (node.has_input(kAttentionMask)) return Support::No("it has a mask");
  const int64_t channels = node.input(0).dim(3);
  if (channels != 64 && channels != 128) {
    return Support::No(absl::StrCat("heads have ", channels, " channels, expected 64 or 128"));
  }
  if (node.input(2).dim(3) != channels) {
    return Support::No(
        absl::StrCat("heads of v have ", node.input(2).dim(3), " channels, of q ", channels));
  }
  const DecodeAttention attention = ReadDecodeAttention(node);
  if (node.output(0).elements() == 0 || attention.keys == 0) {
    return Support::No("an operand is empty");
  }
  if (attention.keys > kMostKeys || attention.blocks() > kMostBlocks) {
    return Support::No(absl::StrCat(attention.keys, " keys in ", attention.blocks(),
                                    " blocks are more than a grid numbers"));
  }
  return Support::Yes();
}

bool IsPrefill(const Unit& unit, const DeviceInfo&) {
  return unit.node().input(0).dim(2) > kFewQueries;
}

// The cache is read once for each tile; the combination of the splits is a second launch.
double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const double share = target.info.calibration.kernels.traffic.decode_attention;
  const DecodeAttention attention = ReadDecodeAttention(unit.node());
  const auto tiles = static_cast<double>(attention.tiles());
  const double traffic_us =
      tiles * static_cast<double>(roofline.bytes) / (share * target.info.bytes_per_us);
  const int launches = DecodeSplits(attention, target.info) > 1 ? 2 : 1;
  return std::max(traffic_us + launches * target.info.launch_us, roofline.us);
}

}  // namespace

DecodeAttention ReadDecodeAttention(const Node& node) {
  const Dims q = node.input(0).dims(), k = node.input(1).dims();
  return {.lengths = node.has_input(kAttentionLengths) ? &node.input(kAttentionLengths) : nullptr,
          .batch = k[0],
          .kv_heads = k[1],
          .rows = q[1] / k[1] * q[2],
          .keys = k[2],
          .channels = k[3],
          .scale = AttentionScale(node, k[3])};
}

int64_t DecodeSplits(const DecodeAttention& attention, const DeviceInfo& info) {
  const int64_t wanted =
      CeilDiv(kBlocksPerMultiprocessor * info.multiprocessors, attention.blocks());
  const int64_t most = CeilDiv(attention.keys, kLeastDecodeKeys);
  return std::clamp<int64_t>(std::min(wanted, most), 1, kMostDecodeSplits);
}

// The op Attention with few queries per head, f16 and bf16, heads of 64 or 128 channels, grouped
// queries, without a mask and not causal; keys count up to a length per batch that is read on the
// device (nonpad_kv_seqlen). The queries of a group are the rows of mma.sync products, so that k
// and v are read once; blocks share the keys of a head, and a second launch combines them in a
// fixed order.
Kernel DecodeAttentionKernel() {
  return {.ops = {"Attention"},
          .types = {DType::kF16, DType::kBF16},
          .takes = Takes,
          .us = Us,
          .beyond_fit = IsPrefill};
}

}  // namespace onnx_cudnn
