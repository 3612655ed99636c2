// The tensors that the caller of a Run gives.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// InvalidArgument: not one pointer per input and output, or a null pointer for elements.
absl::Status CheckPointers(const Graph& graph, absl::Span<const void* const> inputs,
                           absl::Span<void* const> outputs);

bool HasStrings(const Graph& graph);  // among the outputs
// Copies the outputs that are strings. Strings are stored outside arenas; a string output is a
// constant.
void CopyStrings(const Graph& graph, absl::Span<void* const> outputs);

}  // namespace onnx_cudnn
