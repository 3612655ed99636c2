// Values whose elements lie in another Value, for Engines whose operands have strides: what Nodes
// that move no bytes but in their order and extent make of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Element i of the view is element offset + sum of i[d] · strides[d] of `source`, row-major.
struct StridedView {
  const Value* source = nullptr;
  Dims dims, strides;
  int64_t offset = 0;
};

// Whether output `output` of `node` may be a view of input 0: a Gather of one index, Reshape,
// Slice, Split, Squeeze, Transpose or Unsqueeze with constant parameters. Static types.
bool IsViewNode(const Node& node);

// `value` as a view of the first Value, going back through `nodes`, that none of them writes, or of
// itself. nullopt: one of `nodes` is no such Node, or a Reshape joins dims that lie apart.
std::optional<StridedView> ViewThrough(const Value& value, absl::Span<const Node* const> nodes);

// The strides of a tensor of `dims` and `strides` whose elements a Reshape divides anew into `to`,
// of as many elements. nullopt: dims that lie apart would be one.
std::optional<Dims> ReshapedStrides(const Dims& dims, const Dims& strides, const Dims& to);

// The elements of an input, which must be constant or absent; empty if it is absent.
std::vector<int64_t> IntsAt(const Node& node, int input);

// The first element that a Slice with constant parameters and steps of 1 takes; nullopt: its output
// shape does not match.
std::optional<Dims> BeginOfSlice(const Node& slice);

}  // namespace onnx_cudnn
