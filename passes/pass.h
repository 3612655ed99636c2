#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/onnx_functions.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// Why a rewrite did not apply at a Node, or what it changed there.
struct Remark {
  std::string pass;
  std::string where;  // Where(node)
  std::string reason;
};

struct PassLimits {
  // Total size of constants that folding makes in one Graph.
  int64_t folded_bytes = int64_t{1} << 30;
  // Size of one constant, unless it is no larger than what it replaces.
  int64_t folded_value_bytes = int64_t{1} << 24;
  int64_t visits_per_node = 16;  // of a NodePass, which then stops with a remark
};

struct PassContext {
  const Target* target = nullptr;            // nullptr: not chosen yet
  const OnnxFunctions* functions = nullptr;  // nullptr: functions are not expanded
  PassLimits limits;
  int newest_opset = kNewestOpset;         // fused ops must be in this one too: that of a file
  std::vector<Remark>* remarks = nullptr;  // nullptr: no reasons are formatted
  // Nodes that lower-precision leaves in f32, by name, of unnamed ones that of an output.
  std::vector<std::string> keep_f32;
};

// Rewrites a Graph; returns whether it changed.
class Pass {
 public:
  virtual ~Pass() = default;
  virtual std::string_view name() const = 0;  // kebab-case
  virtual absl::StatusOr<bool> Run(Graph& graph, PassContext& context) = 0;
};

// What a NodePass found at a Node.
class Match {
 public:
  static Match None() { return Match(Kind::kNone); }
  static Match Changed() { return Match(Kind::kChanged); }
  // The pattern starts at this Node but must not be applied; `reason` has static lifetime.
  static Match No(const Node& node, std::string_view reason) {
    Match match(Kind::kNo);
    match.node_ = &node;
    match.reason_ = reason;
    return match;
  }
  bool changed() const { return kind_ == Kind::kChanged; }
  bool refused() const { return kind_ == Kind::kNo; }
  const Node& node() const { return *node_; }
  std::string_view reason() const { return reason_; }

 private:
  enum class Kind { kNone, kNo, kChanged };
  explicit Match(Kind kind) : kind_(kind) {}
  Kind kind_;
  const Node* node_ = nullptr;
  std::string_view reason_;
};

// A rewrite around one Node. The driver visits, in topological order and in bodies too, the Nodes
// at which the rewrite starts, and visits again those that a change touched. Visit may replace
// uses, add and edit Nodes; it must not remove any (the driver removes dead Nodes after each
// change).
class NodePass : public Pass {
 public:
  absl::StatusOr<bool> Run(Graph& graph, PassContext& context) final;
  // Whether Visit may find something at `node`. Called for every Node, so it must be cheap.
  virtual bool StartsAt(const Node& node) const = 0;
  virtual absl::StatusOr<Match> Visit(Graph& graph, Node& node) = 0;

 protected:
  const PassContext& context() const { return *context_; }
  bool has_gpu() const {
    return context_->target != nullptr && context_->target->info.compute_capability > 0;
  }

 private:
  PassContext* context_ = nullptr;
};

// A NodePass that starts at the Nodes of some ops of ONNX's own domain. Its texts are literals.
class OpPass : public NodePass {
 public:
  OpPass(std::string_view name, std::vector<std::string_view> ops);
  std::string_view name() const final { return name_; }
  bool StartsAt(const Node& node) const final;

 private:
  const std::string_view name_;
  const std::vector<std::string_view> ops_;
};

}  // namespace onnx_cudnn
