// --explain of a model that runs in segments: a Run on the CPU device tells which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/explain/explanation.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {

// A part of a model that a Run came to: its segment, and why the model is cut behind it.
struct SegmentExplanation {
  int depth = 0;                       // of bodies of Loops and branches of Ifs
  int64_t runs = 0;                    // in the Run
  bool is_padded = false;              // to buckets of sizes that the Run found
  std::optional<Explanation> program;  // of the segment; nullopt: it has no Nodes
  std::vector<std::string> reasons;    // WhyCut
};

// All parts that a Run came to, and what it cost to go from one to the next.
struct SegmentsExplanation {
  std::vector<SegmentExplanation> parts;  // in the order of the Run
  // Tensors read because their elements decide shapes, and their bytes.
  int64_t size_reads = 0, size_read_bytes = 0;
};

// Runs `graph` once on the inputs that `request` describes, on the CPU device, and explains each
// Program that it came to for `target`.
//   shape_buckets  as SessionOptions::shape_buckets; of inputs only that they exist is checked
//   build   as for Explain, without input_values; its body_target decides which bodies are parts
//   errors  those of MakeInputs, of the Run and of Explain; Unimplemented: an input or output is no
//           tensor
absl::StatusOr<SegmentsExplanation> ExplainSegments(const Graph& graph, const InputRequest& request,
                                                    const std::vector<std::string>& shape_buckets,
                                                    const Target& target, BuildOptions build);

// As text; Programs as ExplainText prints them.
std::string ExplainText(const SegmentsExplanation& explained, bool verbose);
// {"size_reads", "size_read_bytes", "segments": [{"depth", "runs", "padded", "program": an object
// of ExplainJson or null, "reasons": […]}]}
std::string ExplainJson(const SegmentsExplanation& explained);

}  // namespace onnx_cudnn
