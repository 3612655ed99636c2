#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/options.h"
#include "runtime/graph/graph.h"
#include "runtime/import/onnx_writer.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// Flags of onnx-cudnn-opt --explain.
struct ExplainRequest {
  std::string model;                  // its name in the report
  std::vector<std::string> disabled;  // passes
  PartitionerChoice partitioner = PartitionerChoice::kGreedy;
  int streams = 1;
  std::string pin;  // a file
  // Files for the complete explanation; empty: none.
  std::string json, report;
  std::string flags;  // the command line, for the report
  bool verbose = false;
  std::vector<std::string> shape_buckets;
};

// Prints how a rewritten model will run on `target` with the inputs of --input and --shape. Returns
// what it says about each Node.
//   errors  those of the inputs, of pins, of building Programs and of files
absl::StatusOr<NodeMetadata> ExplainGraph(const Graph& graph, const ExplainRequest& options,
                                          const Target& target);

}  // namespace onnx_cudnn
