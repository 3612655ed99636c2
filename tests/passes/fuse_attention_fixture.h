// What becomes of attention as exporters write it.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/float16.h"
#include "runtime/graph/verify.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {

// f16 numbers are given by their bits: 14336 is 0.5, 16384 is 2.
inline constexpr std::string_view kOperands =
    "float16[2,4,16,32] q, float16[2,4,24,32] k, float16[2,4,24,32] v";

class FuseAttentionTest : public ::testing::Test {
 protected:
  FuseAttentionTest() : owned_(*MakeTarget("h200")) {}

  struct Fused {
    Graph graph;
    bool changed = false;
    std::vector<Remark> remarks;
  };
  Fused Fuse(std::string_view text) const {
    Fused fused{.graph = GraphFromText(text)};
    PassContext context{.target = &owned_.target, .remarks = &fused.remarks};
    const absl::StatusOr<bool> changed = FuseAttention()->Run(fused.graph, context);
    EXPECT_TRUE(changed.ok()) << changed.status();
    EXPECT_TRUE(Verify(fused.graph).ok()) << Verify(fused.graph);
    fused.changed = changed.value_or(false);
    return fused;
  }

  // "" instead of the Nodes if nothing changes.
  std::string NodesOf(std::string_view text) const {
    Fused fused = Fuse(text);
    if (!fused.changed) return "";
    ExpectSameHalves(GraphFromText(text), fused.graph);
    const std::string printed = PrintOnOneLine(fused.graph);
    const size_t open = printed.find("{ ", printed.find("=> ("));
    return printed.substr(open + 2, printed.size() - open - 4);
  }
  // The result for operands q, k, v and other inputs.
  std::string Attention(std::string_view nodes, std::string_view more = "",
                        std::string_view constants = "") const {
    return NodesOf(absl::StrCat("g (", kOperands, more, ") => (float16[2,4,16,32] y) <", constants,
                                "> {", nodes, "}"));
  }
  void ExpectStays(std::string_view text, std::string_view reason) const {
    SCOPED_TRACE(text);
    const int nodes = GraphFromText(text).node_count();
    const Fused fused = Fuse(text);
    EXPECT_FALSE(fused.changed) << PrintOnOneLine(fused.graph);
    EXPECT_EQ(fused.graph.node_count(), nodes);
    const bool says = std::any_of(fused.remarks.begin(), fused.remarks.end(), [&](const Remark& r) {
      return r.reason.find(reason) != std::string::npos;
    });
    EXPECT_EQ(reason.empty() ? fused.remarks.empty() : says, true)
        << (fused.remarks.empty() ? "no remark" : fused.remarks[0].reason);
  }
  // The same for the usual operands.
  void ExpectAttentionStays(std::string_view nodes, std::string_view reason,
                            std::string_view constants = "") const {
    ExpectStays(absl::StrCat("g (", kOperands, ") => (y) <", constants, "> {", nodes, "}"), reason);
  }

  const OwnedTarget owned_;
};

}  // namespace onnx_cudnn
