#include "runtime/ops/pointwise.h"
#include "runtime/kernels/common/joins.h"
#include "runtime/kernels/common/layouts.h"
#include "runtime/kernels/common/pitched.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostOps = 16;

std::vector<std::string_view> PointwiseOps() {
  std::vector<std::string_view> ops;
  for (const OpDef* op : AllOps()) {
    if (FindPointwise(op->type) != nullptr) ops.push_back(op->type);
  }
  return ops;
}

Support Takes(const Unit& core) { return CheckOperands(core.node()); }

GrowthOptions PointwiseGrowth(const Unit&) {
  return {.forward = JoinsAsReader, .backward = JoinsAsProducer, .most_added = kMostOps - 1};
}

}  // namespace

// DAGs of up to 16 element-wise ops of pointwise_rows.cc, including casts, on types of whole bytes
// except 8-bit floats. All Nodes have the same output shape, to which operands broadcast; any
// number of outputs. Operands with the rank of the result share one layout, others are row-major.
// An interpreter runs the ops' expressions in one pass with 16-byte accesses; frequent forms run
// without it (runtime/kernels/cuda/pointwise/pointwise_simple.h, pointwise_chain.h).
Kernel PointwiseKernel() {
  return {.ops = PointwiseOps(),
          .types = kFixedSizeTypes,
          .takes = Takes,
          .growth = PointwiseGrowth,
          .formats = OneLayout,
          .pitched = PitchedInputs};
}

}  // namespace onnx_cudnn
