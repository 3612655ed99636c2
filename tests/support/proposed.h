// Asks one Engine of the Target h200, and tells its answers in short lines.
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
// "{Conv Relu} last4 > last": the ops, how the inputs and then the outputs lie. Values that lie the
// same row-major and channels-last are "rows".
std::string Describe(const Candidate& candidate);
std::vector<std::string> Describe(const std::vector<Candidate>& candidates);

// A row of a table of rules: what one Engine does at one Node.
struct FusionCase {
  std::string what;
  std::string text;       // of the graph, as above
  std::string anchor;     // the op
  std::string largest;    // "{Conv Relu}" of its proposals; "" when there is none
  std::string says = "";  // a part of some reason, or of what some rule says of an edge
};

class EngineTest : public ::testing::Test {
 protected:
  explicit EngineTest(std::string_view engine);

  // What is proposed at `node`. Expects of every Candidate that Check accepts it at the same price,
  // and that all differ.
  Proposed At(const Graph& graph, const Node& node) const;
  // At the first Node with that op.
  Proposed At(const Graph& graph, std::string_view op) const;
  // The Candidates there, each as Describe tells it.
  std::vector<std::string> LinesAt(const Graph& graph, std::string_view op) const;

  // Compiles the Candidate and expects its Step to write what Evaluate says of its Nodes, zeros in
  // padding.
  void ExpectRunsLikeItsNodes(const Candidate& candidate) const;
  // At each row's anchor: the largest proposal, that some reason or rule holds what it says, and
  // that every proposal runs like its Nodes.
  void ExpectCases(const std::vector<FusionCase>& cases) const;

  const OwnedTarget owned_;
  const Target& target_ = owned_.target;
  const Engine* engine_ = nullptr;
};

// The first Node with that op; aborts when there is none.
const Node& FindNode(const Graph& graph, std::string_view op);

// The Graph of a text, in which inputs whose name starts with w are constants of small numbers.
Graph GraphWithWeights(std::string_view text);

}  // namespace onnx_cudnn
