#include "passes/shape_buckets/cut_padded.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/ops/bounded.h"

namespace onnx_cudnn {
namespace {

// Symbols stay; other dims become numbers.
Type TypeIn(const Type& type, const Dims& dims) {
  Type bound = Type::Tensor(type.dtype, dims);
  for (size_t i = 0; i < type.dims.size() && type.dims.size() == dims.size(); ++i) {
    if (!type.dims[i].symbol.empty()) bound.dims[i] = type.dims[i];
  }
  return bound;
}

absl::Status SetTypes(Graph& graph, absl::Span<const Type> types, absl::Span<const Dims> dims) {
  for (size_t i = 0; i < types.size(); ++i) {
    Value& input = *graph.inputs()[i];
    if (!types[i].is_tensor()) {
      return absl::UnimplementedError(absl::StrCat("input \"", input.name(), "\" is no tensor"));
    }
    graph.SetType(input, TypeIn(types[i], dims[i]));
  }
  return absl::OkStatus();
}

// The dims of what the segment writes: extents that depend on lengths stay open.
void OpenDims(PaddedCut& cut) {
  GraphCut::Part& rest = cut.cut.rest;
  for (size_t i = 0; i < rest.inputs.size(); ++i) {
    const std::vector<int>& slots = cut.cut.segment.outputs;
    const auto slot = std::find(slots.begin(), slots.end(), rest.inputs[i]);
    if (slot == slots.end()) continue;
    const std::vector<Affine>& extents = cut.padded.output_extents[slot - slots.begin()];
    Value& input = *rest.graph.inputs()[i];
    const Value& padded = *cut.padded.graph.outputs()[slot - slots.begin()].value;
    Type type = padded.type();
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      if (!extents[axis].is_constant()) type.dims[axis] = {};
    }
    rest.graph.SetType(input, std::move(type));
  }
}

// Replaces the Nodes that have a bounded form. What stands between Programs is then alone.
void ReplaceBounded(Graph& graph, UnpaddedNodes& unpadded) {
  for (Node* node : graph.TopologicalOrder()) {
    const auto form = unpadded.bounded.find(node);
    if (form == unpadded.bounded.end()) continue;
    unpadded.nodes.erase(node);
    for (Node* first : ReplaceByBounded(graph, *node, form->second).firsts) {
      Type type = Type::Tensor(first->input(0).dtype(), first->attrs().Ints("dims"));
      for (Dim& dim : type.dims) {
        if (dim.value < 0) dim = {};
      }
      graph.SetType(first->output(0), std::move(type));
      unpadded.alone.insert(first);
    }
  }
  unpadded.bounded.clear();  // its keys are gone
}

}  // namespace

absl::StatusOr<PaddedCut> CutPadded(const Graph& graph, absl::Span<const Type> types,
                                    absl::Span<const Dims> dims, const BuildOptions& options) {
  const BucketChoice all = {.all = true, .symbols = {}};
  Graph bound = graph.Clone();
  RETURN_IF_ERROR(SetTypes(bound, types, dims));
  ASSIGN_OR_RETURN(UnpaddedNodes unpadded, FindUnpadded(bound, dims, all, options));
  ReplaceBounded(bound, unpadded);
  std::vector<const Node*> segment, alone, rest;
  for (const Node* node : bound.TopologicalOrder()) {
    const bool is_unpadded = unpadded.nodes.contains(node);
    (unpadded.alone.contains(node) ? alone : is_unpadded ? rest : segment).push_back(node);
  }
  if (segment.empty()) {
    return absl::UnimplementedError(absl::StrJoin(unpadded.reasons, "; "));
  }
  PaddedCut cut{.cut = MakeCut(bound, segment, alone, rest),
                .reasons = std::move(unpadded.reasons)};
  std::vector<Dims> segment_dims;
  for (const int slot : cut.cut.segment.inputs) segment_dims.push_back(dims[slot]);
  ASSIGN_OR_RETURN(cut.padded, PadLengths(cut.cut.segment.graph, segment_dims, all, options));
  OpenDims(cut);
  return cut;
}

}  // namespace onnx_cudnn
