// What an operation of an old opset becomes when it is read.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/graph/print.h"
#include "runtime/graph/verify.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {

// The Nodes that `node` of `opset` becomes, printed, in order. `border` declares the graph's inputs
// and outputs.
inline void ExpectNodes(int opset, std::string_view border, std::string_view node,
                        const std::vector<std::string>& expected) {
  const absl::StatusOr<Graph> graph =
      TryGraphFromText(absl::StrCat("g ", border, " { ", node, " }"), opset);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(Verify(*graph).ok()) << Verify(*graph);
  std::vector<std::string> lines;
  for (const Node* n : graph->TopologicalOrder()) {
    EXPECT_EQ(n->opset(), kNewestOpset);
    lines.push_back(Print(*n));
  }
  EXPECT_EQ(absl::StrJoin(lines, "\n"), absl::StrJoin(expected, "\n"));
}

inline void ExpectRefusal(int opset, std::string_view border, std::string_view node,
                          absl::StatusCode code, std::string_view message) {
  const absl::StatusOr<Graph> graph =
      TryGraphFromText(absl::StrCat("g ", border, " { ", node, " }"), opset);
  EXPECT_EQ(graph.status().code(), code) << graph.status();
  EXPECT_TRUE(absl::StrContains(graph.status().message(), message)) << graph.status();
}

}  // namespace onnx_cudnn
