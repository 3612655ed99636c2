// What --explain prints and writes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/explain/explanation.h"
#include "runtime/import/onnx_writer.h"
#include "tools/common/explain_segments.h"

namespace onnx_cudnn {

struct ExplanationOutput {
  std::string model;  // for the page
  bool verbose = false;
  std::string json, report;  // files; empty: none
  std::string flags;         // the command line, for the page
};

// Prints and writes the explanation of `graph`, and returns what it says of each Node.
absl::StatusOr<NodeMetadata> ShowExplanation(const Graph& graph, const Explanation& explained,
                                             const ExplanationOutput& output);
absl::StatusOr<NodeMetadata> ShowExplanation(const Graph& graph,
                                             const SegmentsExplanation& explained,
                                             const ExplanationOutput& output);

// For each Node of `graph` and of its bodies that is in one of `programs`, under keys that begin
// with "onnx_cudnn.": partition (its number there), engine, predicted_us, and reads and writes, the
// Formats at the border of the partition. Of Nodes with the same name none.
NodeMetadata MetadataOf(const Graph& graph, const std::vector<const Explanation*>& programs);

}  // namespace onnx_cudnn
