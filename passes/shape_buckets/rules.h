#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/shape_buckets/padder.h"

namespace onnx_cudnn {

// How an op that reads padded Values, or elements that depend on lengths, is padded itself: edits
// `node` so that padding never reaches the model's elements, infers its outputs and sets their
// axes.
//   errors  Unimplemented: it cannot be padded, with the reason
using PadRule = absl::Status (*)(Padder& padder, Node& node);

struct PadRow {
  std::string_view op;
  PadRule rule;
  // Inputs whose elements decide shapes, as bits: the rule takes them at capacity. All others hold
  // the elements of the Run.
  unsigned shape_operands = 0;
};

// nullptr: none.
const PadRow* FindPadRow(const Node& node);

// The axes that broadcast to one shape.
absl::StatusOr<PaddedAxes> BroadcastAxes(Padder& padder, absl::Span<const PaddedAxes> shapes);
// The axes of a product of matrices, as MatMul's; what it sums over is not looked at.
absl::StatusOr<PaddedAxes> ProductAxes(Padder& padder, PaddedAxes a, PaddedAxes b);
// Infers `node` and sets the axes of its only output.
absl::Status Finish(Padder& padder, Node& node, PaddedAxes axes);
int64_t CountedAxis(const Node& node, std::string_view attr, int64_t otherwise, int64_t rank);

// Computes the elements of the outputs of `node` from lengths. False: they do not follow.
absl::StatusOr<bool> ComputeElements(Padder& padder, Node& node);

// Element-wise ops, products, norms, Softmax, reductions.
absl::Status PadElementwise(Padder& padder, Node& node);
absl::Status PadMatMul(Padder& padder, Node& node);
absl::Status PadGemm(Padder& padder, Node& node);
absl::Status PadNorm(Padder& padder, Node& node);
absl::Status PadSoftmax(Padder& padder, Node& node);
absl::Status PadReduction(Padder& padder, Node& node);
absl::Status PadArg(Padder& padder, Node& node);
absl::Status PadTopK(Padder& padder, Node& node);
absl::Status PadCumSum(Padder& padder, Node& node);

// Quantization, products of integers.
absl::Status PadQuantize(Padder& padder, Node& node);
absl::Status PadIntegerProduct(Padder& padder, Node& node);

// A form of runtime/ops/bounded.h: sets the types of its outputs, which hold no padding.
absl::Status PadBounded(Padder& padder, Node& node);

// Ops on images: along axis 0 each is computed on its own.
absl::Status PadBatch(Padder& padder, Node& node);
absl::Status PadRoiAlign(Padder& padder, Node& node);
absl::Status PadResize(Padder& padder, Node& node);

// Moves that keep the order of elements along padded axes.
absl::Status PadTranspose(Padder& padder, Node& node);
absl::Status PadUnsqueeze(Padder& padder, Node& node);
absl::Status PadSqueeze(Padder& padder, Node& node);
absl::Status PadReshape(Padder& padder, Node& node);
absl::Status PadFlatten(Padder& padder, Node& node);
absl::Status PadExpand(Padder& padder, Node& node);
absl::Status PadTile(Padder& padder, Node& node);
absl::Status PadSplit(Padder& padder, Node& node);
absl::Status PadTrilu(Padder& padder, Node& node);
absl::Status PadConstantOfShape(Padder& padder, Node& node);
absl::Status PadRange(Padder& padder, Node& node);

// Moves along padded axes.
absl::Status PadConcat(Padder& padder, Node& node);
absl::Status PadSlice(Padder& padder, Node& node);
absl::Status PadGather(Padder& padder, Node& node);
absl::Status PadGatherND(Padder& padder, Node& node);
absl::Status PadGatherElements(Padder& padder, Node& node);
absl::Status PadPad(Padder& padder, Node& node);
absl::Status PadScatterND(Padder& padder, Node& node);
absl::Status PadScatterElements(Padder& padder, Node& node);
absl::Status PadTensorScatter(Padder& padder, Node& node);
// Makes input 1, indices along axes of `extents`, count from the front.
void CountFromFront(Padder& padder, Node& node, Value& extents);
// Makes input 1, tuples of indices along the first `indexed` axes of input 0, count from the front.
void CountTuplesFromFront(Padder& padder, Node& node, int64_t indexed);

}  // namespace onnx_cudnn
