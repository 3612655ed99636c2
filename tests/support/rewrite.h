#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {

// Runs `pass` on the Graph of `before` (ONNX's textual syntax) and expects a changed Graph that
// prints as `after`, that it verifies, and that a second run changes nothing. White space counts as
// one blank.
void ExpectRewrite(std::unique_ptr<Pass> pass, std::string_view before, std::string_view after);

// Expects that `pass` turns the Nodes `before` into `after`, which compute p from x, f32[2], in a
// branch of an If.
void ExpectRewriteInBranch(std::unique_ptr<Pass> pass, std::string_view before,
                           std::string_view after);

// Expects that `pass` changes nothing and that one of its remarks contains `reason`; "": there is
// no remark at all.
void ExpectNoRewrite(std::unique_ptr<Pass> pass, std::string_view before, std::string_view reason);

// Expects that `pass` changes the Graph of `text`, and that output 0, of f32, keeps its dims and,
// to within `tolerance`, its numbers.
void ExpectSameNumbers(std::unique_ptr<Pass> pass, std::string_view text, float tolerance);

// Expects that output 0 of both Graphs, of f16, is the same to within its rounding. Without
// `inputs`, these are numbers between -1 and 1, other ones for each input of f16 or f32; bools are
// mostly true.
void ExpectSameHalves(const Graph& before, const Graph& after,
                      const std::vector<HostTensor>& inputs);
void ExpectSameHalves(const Graph& before, const Graph& after);

// Whether `pass` changes `graph`, for a Target with that compute capability. Expects that the Graph
// verifies then.
bool Changes(std::unique_ptr<Pass> pass, Graph& graph, int compute_capability);

// What `pass` and DeadCode make of `graph` for a Target by its name.
struct RewrittenFor {
  Graph graph;
  bool changed = false;
  std::vector<Remark> remarks;  // of both passes
};
RewrittenFor RewriteFor(std::string_view target, std::unique_ptr<Pass> pass, const Graph& graph);
// Expects that `pass` changes nothing then, and that the first remark is `reason`; "": there is
// none.
void ExpectNoRewriteFor(std::string_view target, std::unique_ptr<Pass> pass, const Graph& graph,
                        std::string_view reason);

// Expects that `pass` changes the Graph of `text` if it is written in `opset`, and only says that
// an op is missing if it is written in the one before.
void ExpectNeedsOpset(std::unique_ptr<Pass> pass, std::string_view text, int opset);

// Expects that `pass` changes the Graph, within 5 seconds.
void ExpectChangesFast(std::unique_ptr<Pass> pass, Graph& graph);

// Expects that BindShapes turns the Graph of `text` into one that prints as `after`.
void ExpectBound(std::string_view text, const InputDims& dims, std::string_view after);

// The output of Print for the Graph, with each run of white space as one blank.
std::string PrintOnOneLine(const Graph& graph);

}  // namespace onnx_cudnn
