#include "tools/common/bisect.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/random_draw.h"

namespace onnx_cudnn {
namespace {

using Nodes = std::vector<const Node*>;

class Bisector {
 public:
  Bisector(const Graph& graph, const BisectRequest& request) : graph_(graph), request_(request) {
    for (const Node* node : graph.TopologicalOrder()) nodes_.push_back(node);
    found_.disabled = request.disabled;
  }

  absl::StatusOr<Bisection> Find(absl::Span<const HostTensor> inputs) {
    for (const Node* node : nodes_) {
      if (!IsRandom(*node)) continue;
      return absl::UnimplementedError(
          absl::StrCat(Where(*node), ": its numbers are random, so that outputs always differ"));
    }
    RETURN_IF_ERROR(ComputeValues(inputs));
    ASSIGN_OR_RETURN(found_.differs, Differs(nodes_, found_.disabled));
    if (!found_.differs) return std::move(found_);
    FindPass();
    Nodes nodes = Reduced();
    found_.ran_out = IsOver();
    found_.reduced = ExtractWithConstants(nodes);
    const Boundary boundary = BoundaryOf(nodes);
    found_.inputs = ValuesOf(boundary.inputs);
    found_.expected = ValuesOf(boundary.outputs);
    for (const Node* node : nodes) {
      const std::string& name = node->name().empty() ? node->output(0).name() : node->name();
      found_.nodes.push_back(absl::StrCat(node->op(), ": ", name));
    }
    return std::move(found_);
  }

 private:
  absl::Status ComputeValues(absl::Span<const HostTensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) values_[graph_.inputs()[i]] = inputs[i];
    for (const Node* node : nodes_) {
      const Boundary boundary = BoundaryOf({{node}});
      std::vector<HostTensor> sources = ValuesOf(boundary.inputs);
      for (const Value* v : boundary.constants) sources.push_back(v->constant());
      ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, Evaluate(Extract({{node}}), sources));
      for (size_t i = 0; i < outputs.size(); ++i) {
        values_[boundary.outputs[i]] = std::move(outputs[i]);
      }
    }
    return absl::OkStatus();
  }

  std::vector<HostTensor> ValuesOf(const std::vector<const Value*>& values) const {
    std::vector<HostTensor> tensors;
    for (const Value* v : values) tensors.push_back(values_.at(v));
    return tensors;
  }

  absl::StatusOr<bool> Differs(const Nodes& nodes, const std::vector<std::string>& disabled) {
    ++found_.runs;
    const Boundary boundary = BoundaryOf(nodes);
    ASSIGN_OR_RETURN(
        const std::vector<HostTensor> outputs,
        request_.run(ExtractWithConstants(nodes), disabled, ValuesOf(boundary.inputs)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      ASSIGN_OR_RETURN(const bool differs,
                       request_.differs(outputs[i], values_.at(boundary.outputs[i])));
      if (differs) return true;
    }
    return false;
  }

  // A run that fails says nothing about the fault.
  bool IsWrong(const Nodes& nodes, const std::vector<std::string>& disabled) {
    const absl::StatusOr<bool> differs = Differs(nodes, disabled);
    return differs.ok() && *differs;
  }
  bool IsWrong(const Nodes& nodes) { return IsWrong(nodes, found_.disabled); }

  bool IsOver() const { return absl::Now() >= request_.deadline; }

  // The passes left out if only those from `first` to before `last` run.
  std::vector<std::string> DisabledBut(size_t first, size_t last) const {
    std::vector<std::string> disabled = request_.disabled;
    for (size_t i = 0; i < request_.passes.size(); ++i) {
      if (i < first || i >= last) disabled.push_back(request_.passes[i]);
    }
    return disabled;
  }

  void FindPass() {
    const absl::StatusOr<bool> without = Differs(nodes_, DisabledBut(0, 0));
    if (!without.ok()) return;
    if (*without) {
      found_.disabled = DisabledBut(0, 0);
      return;
    }
    size_t right = 0, wrong = request_.passes.size();  // how many of the first passes run
    while (wrong - right > 1) {
      const size_t middle = (right + wrong) / 2;
      (IsWrong(nodes_, DisabledBut(0, middle)) ? wrong : right) = middle;
    }
    found_.pass = request_.passes[wrong - 1];
    found_.pass_is_enough = IsWrong(nodes_, DisabledBut(wrong - 1, wrong));
    found_.disabled = found_.pass_is_enough ? DisabledBut(wrong - 1, wrong) : DisabledBut(0, wrong);
  }

  // The first nodes up to one with which they become wrong, the last of these that still are, and
  // of those only the ones that are needed.
  Nodes Reduced() {
    size_t right = 0, wrong = nodes_.size();
    while (wrong - right > 1 && !IsOver()) {
      const size_t middle = (right + wrong) / 2;
      (IsWrong({nodes_.begin(), nodes_.begin() + middle}) ? wrong : right) = middle;
    }
    const auto end = nodes_.begin() + wrong;
    size_t first = 0, none = wrong;
    while (none - first > 1 && !IsOver()) {
      const size_t middle = (first + none) / 2;
      (IsWrong({nodes_.begin() + middle, end}) ? first : none) = middle;
    }
    Nodes nodes(nodes_.begin() + first, end);
    for (size_t part = nodes.size() / 2; part > 0; part /= 2) DropParts(part, nodes);
    return nodes;
  }

  // Leaves out `part` nodes at a time, wherever the rest is still wrong.
  void DropParts(size_t part, Nodes& nodes) {
    for (size_t i = 0; i + part <= nodes.size() && nodes.size() > part && !IsOver();) {
      Nodes rest(nodes.begin(), nodes.begin() + i);
      rest.insert(rest.end(), nodes.begin() + i + part, nodes.end());
      if (IsWrong(rest)) {
        nodes = std::move(rest);
      } else {
        i += part;
      }
    }
  }

  const Graph& graph_;
  const BisectRequest& request_;
  Nodes nodes_;
  absl::flat_hash_map<const Value*, HostTensor> values_;
  Bisection found_;
};

}  // namespace

absl::StatusOr<Bisection> Bisect(const Graph& graph, absl::Span<const HostTensor> inputs,
                                 const BisectRequest& request) {
  return Bisector(graph, request).Find(inputs);
}

}  // namespace onnx_cudnn
