// Lowers Attention with the Nodes that move its heads, which become strides and offsets.
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/base/status.h"
#include "runtime/cudnn/cuda/lower_anchor.h"
#include "runtime/ops/transpose.h"
#include "runtime/plan/grow.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {
namespace {

constexpr int kRank = 4, kQ = 0, kK = 1, kV = 2, kMask = 3;

using Perm = std::vector<int64_t>;

Perm Identity() {
  Perm perm(kRank);
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

// A row-major tensor whose dim perm[i] is cuDNN's dim i: batch, heads, rows, channels.
CudnnTensorView HeadsView(const Dims& dims, const Perm& perm) {
  CudnnTensorView view{.dims = dims, .order = {0, 1, 2, 3}};
  for (const int64_t dim : perm) view.groups.push_back({static_cast<int>(dim)});
  return view;
}

// The tensor of operand `input`, where the Nodes of the Candidate before it take it from.
absl::StatusOr<int> ReadHeads(const Node& attention, int input, GraphBuilder& builder) {
  const std::optional<StridedView> view =
      ViewThrough(attention.input(input), builder.candidate().nodes);
  if (!view.has_value()) return absl::InternalError("an operand of Attention is no view");
  return builder.ReadView(*view);
}

// The tensor of the result; a Transpose of the Candidate behind it becomes strides.
absl::StatusOr<int> WriteHeads(const Node& attention, GraphBuilder& builder) {
  const Value& y = attention.output(0);
  for (const Use& use : y.uses()) {
    if (!Contains(builder.candidate().nodes, use.node)) continue;
    const Value& transposed = use.node->output(0);
    const Perm perm = InversePerm(TransposePerm(*use.node, kRank));
    return builder.Write(transposed, HeadsView(transposed.dims(), perm));
  }
  return builder.Write(y, HeadsView(y.dims(), Identity()));
}

}  // namespace

absl::Status LowerAttention(const Node& attention, GraphBuilder& builder) {
  const Dims q = attention.input(kQ).dims();
  CudnnOperation operation{.kind = CudnnOperation::Kind::kAttention};
  for (int i = 0; i < kMask; ++i) {
    ASSIGN_OR_RETURN(const int tensor, ReadHeads(attention, i, builder));
    operation.in.push_back(tensor);
  }
  // The frontend swaps the dims of k in place.
  if (operation.in[kK] == operation.in[kQ] || operation.in[kK] == operation.in[kV]) {
    return absl::UnimplementedError("k is another operand too");
  }
  const double default_scale = 1 / std::sqrt(static_cast<double>(q.back()));
  const float scale = attention.attrs().Float("scale", static_cast<float>(default_scale));
  operation.in.push_back(builder.Number(scale, kRank));
  operation.is_causal = attention.attrs().Int("is_causal", 0) != 0;
  if (operation.is_causal) {
    // Each query sees key 0, so that no row has this number alone.
    operation.in.push_back(builder.Number(std::numeric_limits<float>::lowest(), kRank));
  } else if (attention.has_input(kMask)) {
    const Dims scores = {q[0], q[1], q[2], attention.input(kK).dim(2)};
    ASSIGN_OR_RETURN(const int mask,
                     builder.Read(attention.input(kMask), HeadsView(scores, Identity())));
    operation.in.push_back(mask);
  }
  ASSIGN_OR_RETURN(operation.out, WriteHeads(attention, builder));
  builder.Add(std::move(operation));
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
