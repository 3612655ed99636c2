// Cuts a Graph some of whose input dims were found in the Run: what is padded to buckets of these
// sizes, and what needs them exact.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/cut_graph.h"
#include "passes/shape_buckets/pad_lengths.h"

namespace onnx_cudnn {

struct PaddedCut {
  GraphCut cut;                      // the segment is not yet padded
  PaddedGraph padded;                // the segment
  std::vector<std::string> reasons;  // why the rest is not padded
};

// As many Nodes as possible are in the segment. Inputs of the rest that it writes have exact dims.
//   types   of the inputs; a dim with a symbol may be padded
//   dims    parallel to them; those of this Run
//   errors  Unimplemented: no Node can be padded
absl::StatusOr<PaddedCut> CutPadded(const Graph& graph, absl::Span<const Type> types,
                                    absl::Span<const Dims> dims, const BuildOptions& options);

}  // namespace onnx_cudnn
