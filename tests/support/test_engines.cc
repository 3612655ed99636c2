#include "tests/support/test_engines.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/ops/op_table.h"
#include "runtime/plan/reference_step.h"

namespace onnx_cudnn {

bool TestEngine::Takes(const Node& node) const {
  const std::vector<std::string>& ops = options_.ops;
  const bool listed = ops.empty() || std::find(ops.begin(), ops.end(), node.op()) != ops.end();
  return listed && node.domain().empty() && static_cast<bool>(CheckOp(node));
}

Placement TestEngine::PlacementOf(const Value& value, bool channels_last) const {
  return {
      .format = channels_last ? Format::ChannelsLast(value.dims()) : Format::RowMajor(value.dims()),
      .space = options_.space};
}

Candidate TestEngine::Make(std::vector<const Node*> nodes, const Target& target) const {
  Candidate candidate{.nodes = std::move(nodes), .engine = this, .beyond_fit = options_.beyond_fit};
  const Boundary boundary = BoundaryOf(candidate.nodes);
  const bool last = options_.channels_last, outputs_last = last || options_.outputs_last;
  for (const Value* v : boundary.inputs) candidate.inputs.push_back(PlacementOf(*v, last));
  for (const Value* v : boundary.outputs)
    candidate.outputs.push_back(PlacementOf(*v, outputs_last));
  candidate.cost = Price(candidate, target);
  return candidate;
}

void TestEngine::Grow(std::vector<const Node*>& path, const Target& target,
                      CandidateSink& sink) const {
  sink.Add(Make(path, target));
  if (path.size() == options_.most_nodes) return;
  for (const Value* v : path.back()->outputs()) {
    if (v == nullptr) continue;
    for (const Use& use : v->uses()) {
      const bool seen = std::find(path.begin(), path.end(), use.node) != path.end();
      if (seen || !Takes(*use.node)) continue;
      path.push_back(use.node);
      Grow(path, target, sink);
      path.pop_back();
    }
  }
}

void TestEngine::Propose(const Graph&, const Node& anchor, const Target& target,
                         CandidateSink& sink) const {
  if (!Takes(anchor)) return sink.No(*this, anchor, "not one of its ops");
  std::vector<const Node*> path = {&anchor};
  Grow(path, target, sink);
}

Support TestEngine::Check(const Graph&, const Candidate& candidate, const Target& target) const {
  for (const Node* node : candidate.nodes) {
    if (!Takes(*node)) return Support::No("not one of its ops");
  }
  const Candidate own = Make(candidate.nodes, target);
  const bool same = own.inputs == candidate.inputs && own.outputs == candidate.outputs;
  return same ? Support::Yes() : Support::No("not its formats");
}

absl::StatusOr<Compiled> TestEngine::Compile(const Candidate& candidate, const Variant&,
                                             const Target&) const {
  ++compiled_;
  if (candidate.nodes.size() > options_.compiles_at_most) {
    return Compiled::No(absl::StrCat("more than ", options_.compiles_at_most, " nodes"));
  }
  return CompileReference(candidate);
}

}  // namespace onnx_cudnn
