// A cover of a Graph as text, so that a later process takes the same Candidates without a search.
// One line per Candidate: its Engine, the SHA-1 of its Signature, the ids of its Nodes. For any
// host the SHA-1 is of what Signatures have in common, whatever the Engine's version and the
// device's name, and follows a star.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "passes/partition/partitioners.h"

namespace onnx_cudnn {

// Equal covers are equal texts, in whatever order.
std::string CoverToText(absl::Span<const Candidate> cover, const Target& target);
std::string CoverToText(absl::Span<const Partition> partitions, const Target& target);
std::string CoverForAnyHost(absl::Span<const Partition> partitions, const Target& target);

// The Candidates of `text`, as their Engines propose them now. nullopt: the text is no cover of the
// Stretch, or an Engine no longer proposes one of them. Any bytes are safe.
std::optional<std::vector<Candidate>> CoverFromText(std::string_view text, const Stretch& stretch);

}  // namespace onnx_cudnn
