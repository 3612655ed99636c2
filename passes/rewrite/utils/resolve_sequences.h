#pragma once

#include "passes/pass.h"
#include "passes/rewrite/utils/inline_body.h"

namespace onnx_cudnn {

// Sequences and optionals of known length hold no bytes: their readers take the Values that were
// put in. A Node that changes a sequence (SequenceInsert, SequenceErase, SplitToSequence,
// SequenceMap) is replaced by a SequenceConstruct or SequenceEmpty, one that reads it (SequenceAt,
// SequenceLength, ConcatFromSequence, OptionalGetElement, OptionalHasElement) by its elements or by
// Nodes over them. `node` stays, without uses; the new Nodes are in topological order.
//   No  the sequence's elements, a position or an extent are not known, or there are too many
Match ResolveSequence(Graph& graph, Node& node, CopyBudget& budget);

}  // namespace onnx_cudnn
