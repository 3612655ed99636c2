#include <numeric>
#include <utility>

#include "runtime/gemm/epilogue.h"
#include "runtime/gemm/patterns.h"
#include "runtime/gemm/price.h"
#include "runtime/ops/transpose.h"
#include "runtime/plan/product.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kVectorBits = 128;

constexpr Rule kMovesBatch = {
    "cuBLASLt reads a transposed operand where its last two dims are swapped and no others",
    "none: the Transpose moves its bytes once"};

bool SwapsLastTwo(const Node& transpose) {
  const int rank = transpose.input(0).rank();
  if (rank < 2) return false;
  std::vector<int64_t> swapped(rank);
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[rank - 1], swapped[rank - 2]);
  return TransposePerm(transpose, rank) == swapped;
}

class Matrix final : public Pattern {
 public:
  bool Matches(const Node& node) const override { return IsMatrixProduct(node); }

  Support Takes(const Node& anchor) const override {
    if (Support s = CheckProduct(anchor); !s) return s;
    return CheckAddend(anchor);
  }

  const Rule* MayFollow(const Node& anchor, const GrowthStep& step) const override {
    const FusedTensor result = MatrixOf(anchor.output(0));
    return MayFollowProduct(step, OwnEpilogue(anchor, result), result);
  }

  const Rule* MayPrecede(const Node& anchor, const GrowthStep& step) const override {
    if (step.node.domain().empty() && step.node.op() == "Transpose") {
      const bool is_factor = &step.edge == &anchor.input(0) || &step.edge == &anchor.input(1);
      if (!is_factor) return &kUnreported;
      return SwapsLastTwo(step.node) ? nullptr : &kMovesBatch;
    }
    return WhyNotConcatenated(step);
  }

  Efficiency EfficiencyOf(const Node& anchor, const Candidate& candidate,
                          const Target& target) const override {
    const FusedTensor result = MatrixOf(anchor.output(0));
    const bool has_residual =
        OwnEpilogue(anchor, result).residual || AddsResidual(candidate.nodes, result);
    return onnx_cudnn::EfficiencyOf(GemmCase{.dtype = anchor.input(0).dtype(),
                                             .depth = ProductOf(anchor).depth,
                                             .is_aligned = RowsFill(anchor, kVectorBits),
                                             .has_residual = has_residual},
                                    target);
  }
};

}  // namespace

std::unique_ptr<const Pattern> MatrixPattern() { return std::make_unique<Matrix>(); }

}  // namespace onnx_cudnn
