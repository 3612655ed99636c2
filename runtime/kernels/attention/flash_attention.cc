#include "runtime/kernels/attention/flash_attention.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/integers.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/transpose.h"
#include "runtime/plan/fused_tensor.h"
#include "runtime/plan/head_views.h"

namespace onnx_cudnn {
namespace {

constexpr int kMask = kAttentionMask;
constexpr int kRank = 4;
constexpr int64_t kChannelMultiple = 8, kMostChannels = 256;
constexpr int64_t kMostBlocks = 65'535;  // of the second and third axis of a grid
constexpr int64_t kGroupQueries = 64;

constexpr Rule kTurned = {"it reads and writes rows of channels without gaps",
                          "none: what moves no element within the rows joins it"};

Support Takes(const Unit& core) {
  const Node& node = core.node();
  if (node.has_input(kAttentionLengths)) return Support::No("it has lengths of keys");
  for (int i = 0; i < kMask; ++i) {
    const Value& operand = node.input(i);
    if (operand.is_constant()) return Support::No(absl::StrCat(operand.name(), " is a constant"));
    if (operand.elements() == 0) return Support::No("an operand is empty");
    if (Support s = CheckHeadChannels(operand, kChannelMultiple, kMostChannels); !s) return s;
    for (const int64_t dim : operand.dims()) {
      if (dim > std::numeric_limits<int32_t>::max() / 2) {
        return Support::No(absl::StrCat(operand.name(), " has a dim of ", dim));
      }
    }
  }
  if (node.has_input(kMask) && node.input(kMask).dtype() == DType::kBool) {
    return Support::No("its mask is bool");
  }
  if (!(AttentionScale(node, node.input(0).dim(3)) > 0))
    return Support::No("its scale is not positive");
  const int64_t most = std::max(node.input(0).dim(0), node.input(0).dim(1));
  if (most <= kMostBlocks) return Support::Yes();
  return Support::No(absl::StrCat("it has ", most, " heads or batches, more than ", kMostBlocks));
}

const Rule* JoinsBehind(const Node& anchor, const GrowthStep& step) {
  if (&step.edge != &anchor.output(0) || !step.edge.has_one_use()) return &kUnreported;
  if (step.node.op() != "Transpose") return &kUnreported;
  return KeepsChannels(step.node) ? nullptr : &kTurned;
}

const Rule* JoinsBefore(const Node& anchor, const GrowthStep& step) {
  const auto operands = anchor.inputs().first(kMask);
  std::vector<const Node*> nodes = NodesBefore(anchor, step.nodes);
  const bool leads_to_operand =
      std::find(operands.begin(), operands.end(), &step.edge) != operands.end() ||
      IsReadBy(step.edge, nodes);
  if (!leads_to_operand || !IsViewNode(step.node)) return &kUnreported;
  nodes.push_back(&step.node);
  const bool reads_all = std::all_of(operands.begin(), operands.end(),
                                     [&](const Value* v) { return HasWholeRows(*v, nodes); });
  return reads_all ? nullptr : &kTurned;
}

GrowthOptions Growth(const Unit& core) {
  const Node* anchor = &core.node();
  return {.forward = [anchor](const GrowthStep& s) { return JoinsBehind(*anchor, s); },
          .backward = [anchor](const GrowthStep& s) { return JoinsBefore(*anchor, s); }};
}

double Us(const Unit&, const Cost& roofline, const Target& target) {
  const auto& calibration = target.info.calibration.kernels.flash_attention;
  const double arithmetic_us =
      static_cast<double>(roofline.flops) / (calibration.arithmetic * target.info.f16_flops_per_us);
  const double traffic_us =
      static_cast<double>(roofline.bytes) / (calibration.traffic * target.info.bytes_per_us);
  return std::max(arithmetic_us, traffic_us) + calibration.fixed_us + target.info.launch_us;
}

std::vector<std::string> Variants(const Unit& unit, const Target& target) {
  std::vector<std::string> variants;
  for (const int groups : FlashGroups(ReadFlashOperands(unit.nodes), target.info.multiprocessors)) {
    variants.push_back(absl::StrCat(groups));
  }
  return variants;
}

}  // namespace

FlashOperands ReadFlashOperands(absl::Span<const Node* const> nodes) {
  FlashOperands found{};
  for (const Node* node : nodes) {
    if (node->op() == "Attention") found.attention = node;
  }
  const Node& attention = *found.attention;
  StridedView* const views[] = {&found.q, &found.k, &found.v};
  for (int i = 0; i < kMask; ++i) *views[i] = *ViewThrough(attention.input(i), nodes);
  found.mask = attention.has_input(kMask) ? &attention.input(kMask) : nullptr;
  found.scale = AttentionScale(attention, attention.input(0).dim(3));
  found.is_causal = attention.attrs().Int("is_causal", 0) != 0;
  const Value& result = attention.output(0);
  found.y_dims = result.dims();
  found.y = &result;
  std::vector<int64_t> perm = {0, 1, 2, 3};
  for (const Use& use : result.uses()) {
    if (!Contains(nodes, use.node)) continue;
    found.y = &use.node->output(0);
    perm = TransposePerm(*use.node, kRank);
  }
  found.y_strides = Dims(kRank, 1);
  int64_t stride = 1;
  for (int i = kRank - 1; i >= 0; --i) {
    found.y_strides[perm[i]] = stride;
    stride *= found.y->dim(i);
  }
  return found;
}

std::vector<int> FlashGroups(const FlashOperands& operands, int multiprocessors) {
  const int64_t queries = operands.y_dims[2];
  if (queries <= kGroupQueries) return {1};
  const int64_t blocks =
      operands.y_dims[0] * operands.y_dims[1] * CeilDiv(queries, 2 * kGroupQueries);
  const bool fills = blocks >= multiprocessors;
  return fills ? std::vector<int>{2, 1} : std::vector<int>{1, 2};
}

// Attention of any number of keys in one launch by wgmma, online softmax in f32: f16 or bf16, heads
// of up to 256 channels, multiples of 8 (64, 128 and 256 fill its tiles), causal or not, with a
// mask that is added, and heads of k and v that several of q share. Views before it and a Transpose
// behind it that keep rows of channels whole become strides. Its variants are warpgroups per block,
// 64 queries each.
Kernel FlashAttentionKernel() {
  Capability needs = kSm90aCode;
  needs.shared_bytes = 200 << 10;
  return {.ops = {"Attention"},
          .types = {DType::kF16, DType::kBF16},
          .needs = needs,
          .takes = Takes,
          .growth = Growth,
          .us = Us,
          .variants = Variants};
}

}  // namespace onnx_cudnn
