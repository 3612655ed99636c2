#pragma once

#include "passes/pass.h"
#include "passes/rewrite/utils/inline_body.h"

namespace onnx_cudnn {

// Sequences and optionals of known length hold no bytes: what reads them takes the Values that were
// put in. A Node that changes a sequence (SequenceInsert, SequenceErase, SplitToSequence,
// SequenceMap) gives way to a SequenceConstruct or SequenceEmpty, one that reads it (SequenceAt,
// SequenceLength, ConcatFromSequence, OptionalGetElement, OptionalHasElement) to its elements or to
// Nodes over them. `node` stays behind dead; the new Nodes are in topological order.
//   No  the sequence's elements, a position or an extent are not known, or there are too many
Match ResolveSequence(Graph& graph, Node& node, CopyBudget& budget);

}  // namespace onnx_cudnn
