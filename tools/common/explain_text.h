#pragma once

#include <string>

#include "passes/explain/explanation.h"

namespace onnx_cudnn {

inline constexpr size_t kExplainColumns = 120;

// `explanation` as text, in lines of at most kExplainColumns. Short: repeated rows of Partitions
// are printed once with their count; edges and Format costs are grouped by reason with examples,
// the most frequent reasons only. Verbose: every Partition with its Nodes, every edge, every buffer
// and the live bytes at each launch.
std::string ExplainText(const Explanation& explanation, bool verbose);

}  // namespace onnx_cudnn
