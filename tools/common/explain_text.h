#pragma once

#include <string>

#include "passes/explain/explanation.h"

namespace onnx_cudnn {

inline constexpr size_t kExplainColumns = 120;

// `explanation` for people, in lines of at most kExplainColumns. Short: rows of Partitions that
// repeat stand once with their count, edges and Format costs by their reason with examples, the
// most frequent reasons only. Verbose: every Partition with its Nodes, every edge, every buffer
// and the bytes that are live at each launch.
std::string ExplainText(const Explanation& explanation, bool verbose);

}  // namespace onnx_cudnn
