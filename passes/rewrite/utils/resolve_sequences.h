#pragma once

#include "passes/pass.h"
#include "passes/rewrite/utils/inline_body.h"

namespace onnx_cudnn {

// Sequences and optionals of known length hold no bytes of their own: their readers read the Values
// that were inserted. A Node that makes a sequence from another (SequenceInsert, SequenceErase,
// SplitToSequence, SequenceMap) is replaced by a SequenceConstruct or SequenceEmpty; one that reads
// a sequence (SequenceAt, SequenceLength, ConcatFromSequence, OptionalGetElement,
// OptionalHasElement) is replaced by its elements or by Nodes over them. `node` stays, without
// uses; the new Nodes are in topological order.
//   No  the elements, a position or an extent are unknown, or there are too many
Match ResolveSequence(Graph& graph, Node& node, CopyBudget& budget);

}  // namespace onnx_cudnn
