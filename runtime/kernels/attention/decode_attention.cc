#include "runtime/kernels/attention/decode_attention.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/transpose.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostKeys = int64_t{1} << 30;
constexpr int64_t kMostBlocks = 65535;  // along y of a grid
constexpr int64_t kBlocksPerMultiprocessor = 4;
// Beyond it the products of every tile, not the bytes of the cache, take the time.
constexpr int64_t kFewQueries = 8;

using NodeList = std::vector<const Node*>;

// The only reader's producer, if it is that op.
const Node* OwnWriter(const Value& value, std::string_view op) {
  const Node* node = value.producer();
  const bool is_one = node != nullptr && node->domain().empty() && node->op() == op;
  return is_one && value.has_one_use() ? node : nullptr;
}

// The Gather, Reshape and Transpose that bring pages of a cache [pages, page, heads, channels]
// together as `heads`, [batch, heads, keys, channels]; empty: something else makes them.
NodeList PagesBehind(const Value& heads) {
  const Node* transpose = OwnWriter(heads, "Transpose");
  if (transpose == nullptr || TransposePerm(*transpose, heads.rank()) != Dims{0, 2, 1, 3})
    return {};
  const Value& rows = transpose->input(0);
  const Node* reshape = OwnWriter(rows, "Reshape");
  const Node* gather = reshape == nullptr ? nullptr : OwnWriter(reshape->input(0), "Gather");
  if (gather == nullptr || gather->attrs().Int("axis", 0) != 0) return {};
  const Value &cache = gather->input(0), &table = gather->input(1);
  if (!rows.is_static() || !cache.is_static() || !table.is_static()) return {};
  if (cache.is_constant() || cache.rank() != 4 || table.rank() != 2) return {};
  if (cache.elements() == 0) return {};  // then each page of the table is a fault of the Gather
  const Dims expected = {table.dim(0), table.dim(1) * cache.dim(1), cache.dim(2), cache.dim(3)};
  return rows.dims() == expected ? NodeList{gather, reshape, transpose} : NodeList();
}

// The Attention alone, and with the pages of its keys and values.
std::vector<NodeList> CoresAt(const Node& anchor) {
  std::vector<NodeList> cores = {{&anchor}};
  NodeList nodes = PagesBehind(anchor.input(1));
  const NodeList values = PagesBehind(anchor.input(2));
  if (nodes.empty() || values.empty()) return cores;
  const Node &k = *nodes[0], &v = *values[0];
  if (&k.input(1) != &v.input(1) || k.input(0).dims() != v.input(0).dims()) return cores;
  nodes.insert(nodes.end(), values.begin(), values.end());
  nodes.push_back(&anchor);
  cores.push_back(std::move(nodes));
  return cores;
}

Support Takes(const Unit& core) {
  const DecodeAttention attention = ReadDecodeAttention(core.nodes);
  const Node& node = *attention.node;
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
  return ReadDecodeAttention(unit.nodes).node->input(0).dim(2) > kFewQueries;
}

// The cache is read once for each tile; the combination of the splits is a second launch.
double Us(const Unit& unit, const Cost& roofline, const Target& target) {
  const double share = target.info.calibration.kernels.traffic.decode_attention;
  const DecodeAttention attention = ReadDecodeAttention(unit.nodes);
  const auto tiles = static_cast<double>(attention.tiles());
  // Of pages, only those that the table may name are read.
  const int64_t rows = attention.batch * attention.kv_heads * attention.keys;
  const int64_t read_bytes = 2 * rows * attention.channels * BitsOf(attention.k->dtype()) / 8;
  const bool is_paged = attention.table != nullptr;
  const double traffic_us = tiles * static_cast<double>(is_paged ? read_bytes : roofline.bytes) /
                            (share * target.info.bytes_per_us);
  const int launches = DecodeSplits(attention, target.info) > 1 ? 2 : 1;
  const double us = traffic_us + launches * target.info.launch_us;
  return is_paged ? us : std::max(us, roofline.us);
}

}  // namespace

DecodeAttention ReadDecodeAttention(absl::Span<const Node* const> nodes) {
  const Node& node = *nodes.back();
  const Dims q = node.input(0).dims(), k = node.input(1).dims();
  const bool is_paged = nodes.size() > 1;
  const Node* gathers[2] = {nullptr, nullptr};
  for (int i = 0; is_paged && i < 2; ++i) {
    const Node& reshape = *node.input(1 + i).producer()->input(0).producer();
    gathers[i] = reshape.input(0).producer();
  }
  return {.node = &node,
          .k = is_paged ? &gathers[0]->input(0) : &node.input(1),
          .v = is_paged ? &gathers[1]->input(0) : &node.input(2),
          .table = is_paged ? &gathers[0]->input(1) : nullptr,
          .lengths = node.has_input(kAttentionLengths) ? &node.input(kAttentionLengths) : nullptr,
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
// fixed order. Keys and values may lie in pages of caches, which are read where they lie.
Kernel DecodeAttentionKernel() {
  return {.ops = {"Attention"},
          .types = {DType::kF16, DType::kBF16},
          .cores = CoresAt,
          .takes = Takes,
          .us = Us,
          .beyond_fit = IsPrefill};
}

}  // namespace onnx_cudnn
