// Nodes of one input and one output that are the same bytes.
#pragma once

#include <vector>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// How input and output of a Node lie where both are the same bytes.
struct SameBytes {
  Format in, out;
  bool operator==(const SameBytes&) const = default;
};

// Whether all inputs but the first are constants.
Support CheckParameters(const Node& node);
// Whether input 0 and output 0 of `node` can be the same bytes in some Formats.
Support CheckSameBytes(const Node& node, const Target& target);
// The Formats in which they are, of a Node that CheckSameBytes takes; at least one pair.
std::vector<SameBytes> SameBytesFormats(const Node& node, const Target& target);
// Whether they are the same bytes where input and output lie so.
Support CheckPlacements(const Node& node, const Placement& from, const Placement& to,
                        const Target& target);

}  // namespace onnx_cudnn
