// The proposals and refusals of one Engine of the Target h200, as short lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/session/engines.h"

namespace onnx_cudnn {

struct Proposed {
  std::vector<Candidate> candidates;
  std::vector<std::string> reasons;    // why nothing was proposed
  std::vector<std::string> not_fused;  // "v to Conv: what the rule says"
};

Proposed ProposedBy(const Engine& engine, const Graph& graph, const Node& anchor,
                    const Target& target);

// "{Conv Relu}"
std::string OpsOf(const Candidate& candidate);
// "{Conv Relu} last4 > last": the ops, the layouts of the inputs and then of the outputs. Values
// whose row-major and channels-last layouts are equal are "rows".
std::string Describe(const Candidate& candidate);
std::vector<std::string> Describe(const std::vector<Candidate>& candidates);

// A row in a table of rules: what one Engine does at one Node.
struct FusionCase {
  std::string what;
  std::string text;       // of the graph, as above
  std::string anchor;     // the op
  std::string largest;    // "{Conv Relu}", the largest proposal; "" if there is none
  std::string says = "";  // part of a reason, or of what a rule says about an edge
};

class EngineTest : public ::testing::Test {
 protected:
  explicit EngineTest(std::string_view engine);

  // The proposals at `node`. Expects that Check accepts every Candidate at the same price, and that
  // all are different.
  Proposed At(const Graph& graph, const Node& node) const;
  // At the first Node with that op.
  Proposed At(const Graph& graph, std::string_view op) const;
  // The Candidates there, in the form of Describe.
  std::vector<std::string> LinesAt(const Graph& graph, std::string_view op) const;

  // Compiles the Candidate and expects its Step to compute the result of Evaluate for its Nodes,
  // with zeros in padding.
  void ExpectRunsLikeItsNodes(const Candidate& candidate) const;
  // For each row's anchor, expects the largest proposal, a reason or rule that contains `says`, and
  // that every proposal computes the same as its Nodes.
  void ExpectCases(const std::vector<FusionCase>& cases) const;

  const OwnedTarget owned_;
  const Target& target_ = owned_.target;
  const Engine* engine_ = nullptr;
};

// The first Node with that op; aborts if there is none.
const Node& FindNode(const Graph& graph, std::string_view op);

// The Graph of a text in which inputs whose name starts with w are constants of small numbers.
Graph GraphWithWeights(std::string_view text);

}  // namespace onnx_cudnn
