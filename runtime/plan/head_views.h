// Which Nodes around an Attention only say where the rows of its heads lie, for Engines that read
// and write them by strides.
#pragma once

#include "absl/types/span.h"
#include "runtime/base/support.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether `operand`, made by some of `nodes`, is a view of a Value whose rows of channels have no
// gaps and begin at multiples of eight elements, which are 16 bytes of f16 and bf16.
bool HasWholeRows(const Value& operand, absl::Span<const Node* const> nodes);

// Whether the heads of `operand`, of four axes, have a multiple of `multiple` channels, at most
// `most`.
Support CheckHeadChannels(const Value& operand, int64_t multiple, int64_t most);

// Whether it is a Transpose of four axes that keeps the channels last.
bool KeepsChannels(const Node& node);

}  // namespace onnx_cudnn
