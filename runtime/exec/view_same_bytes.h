// Nodes with one input and one output that share their bytes.
#pragma once

#include <vector>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// Placements of a Node's input and output in which both have the same bytes.
struct SameBytes {
  Format in, out;
  bool operator==(const SameBytes&) const = default;
};

// Whether all inputs but the first are constants.
Support CheckParameters(const Node& node);
// Whether input 0 and output 0 of `node` can be the same bytes in some Formats.
Support CheckSameBytes(const Node& node, const Target& target);
// Those Formats, for a Node that CheckSameBytes accepts; at least one pair.
std::vector<SameBytes> SameBytesFormats(const Node& node, const Target& target);
// Whether input and output have the same bytes in these Placements.
Support CheckPlacements(const Node& node, const Placement& from, const Placement& to,
                        const Target& target);

}  // namespace onnx_cudnn
