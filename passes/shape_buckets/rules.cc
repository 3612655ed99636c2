#include "passes/shape_buckets/rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

constexpr unsigned Input(int index) { return 1U << index; }

// Sorted by name. Element-wise ops have no rows.
constexpr PadRow kRows[] = {
    {"ArgMax", PadArg},
    {"ArgMin", PadArg},
    {"AveragePool", PadBatch},
    {"BatchNormalization", PadBatch},
    {"Concat", PadConcat},
    {"ConstantOfShape", PadConstantOfShape, Input(0)},
    {"Conv", PadBatch},
    {"ConvInteger", PadBatch},
    {"ConvTranspose", PadBatch},
    {"CumSum", PadCumSum},
    {"DequantizeLinear", PadQuantize},
    {"Dropout", PadElementwise},
    {"Expand", PadExpand, Input(1)},
    {"Flatten", PadFlatten},
    {"Gather", PadGather, Input(1)},
    {"GatherElements", PadGatherElements},
    {"GatherND", PadGatherND},
    {"Gemm", PadGemm},
    {"GlobalAveragePool", PadBatch},
    {"GlobalMaxPool", PadBatch},
    {"Identity", PadElementwise},
    {"InstanceNormalization", PadBatch},
    {"LayerNormalization", PadNorm},
    {"LogSoftmax", PadSoftmax},
    {"MatMul", PadMatMul},
    {"MatMulInteger", PadIntegerProduct},
    {"MaxPool", PadBatch},
    {"Pad", PadPad, Input(1)},
    {"QLinearConv", PadBatch},
    {"QLinearMatMul", PadIntegerProduct},
    {"QuantizeLinear", PadQuantize},
    {"RMSNormalization", PadNorm},
    {"Range", PadRange, Input(0) | Input(1) | Input(2)},
    {"ReduceL1", PadReduction},
    {"ReduceL2", PadReduction},
    {"ReduceLogSum", PadReduction},
    {"ReduceLogSumExp", PadReduction},
    {"ReduceMax", PadReduction},
    {"ReduceMean", PadReduction},
    {"ReduceMin", PadReduction},
    {"ReduceProd", PadReduction},
    {"ReduceSum", PadReduction},
    {"ReduceSumSquare", PadReduction},
    {"Reshape", PadReshape, Input(1)},
    {"Resize", PadResize, Input(3)},
    {"RoiAlign", PadRoiAlign},
    {"ScatterElements", PadScatterElements},
    {"ScatterND", PadScatterND},
    {"Slice", PadSlice, Input(1) | Input(2) | Input(3) | Input(4)},
    {"Softmax", PadSoftmax},
    {"Split", PadSplit},
    {"Squeeze", PadSqueeze},
    {"TensorScatter", PadTensorScatter},
    {"Tile", PadTile},
    {"TopK", PadTopK, Input(1)},
    {"Transpose", PadTranspose},
    {"Trilu", PadTrilu},
    {"Unsqueeze", PadUnsqueeze},
};
constexpr PadRow kElementwise = {"", PadElementwise};

absl::Status Merge(Padder& padder, PaddedAxis& into, const Affine& extent) {
  if (extent == into.extent || extent == Affine(1)) return absl::OkStatus();
  if (into.extent == Affine(1)) {
    into.extent = extent;
    return absl::OkStatus();
  }
  return padder.RequireEqual(into.extent, extent);
}

}  // namespace

const PadRow* FindPadRow(const Node& node) {
  if (!node.domain().empty() || !node.bodies().empty()) return nullptr;
  for (const PadRow& row : kRows) {
    if (row.op == node.op()) return &row;
  }
  return FindPointwise(node.op()) != nullptr ? &kElementwise : nullptr;
}

absl::StatusOr<PaddedAxes> BroadcastAxes(Padder& padder, absl::Span<const PaddedAxes> shapes) {
  size_t rank = 0;
  for (const PaddedAxes& shape : shapes) rank = std::max(rank, shape.size());
  PaddedAxes axes(rank, PaddedAxis{.extent = 1});
  for (const PaddedAxes& shape : shapes) {
    for (size_t i = 0; i < shape.size(); ++i) {
      RETURN_IF_ERROR(Merge(padder, axes[rank - shape.size() + i], shape[i].extent));
    }
  }
  return axes;
}

absl::Status Finish(Padder& padder, Node& node, PaddedAxes axes) {
  RETURN_IF_ERROR(padder.Infer(node));
  return padder.SetAxes(node.output(0), std::move(axes));
}

int64_t CountedAxis(const Node& node, std::string_view attr, int64_t otherwise, int64_t rank) {
  const int64_t axis = node.attrs().Int(attr, otherwise);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace onnx_cudnn
