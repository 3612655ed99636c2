#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/partition/confirm.h"
#include "passes/partition/partitioners.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// A Reformat or Transfer that has been added and has no Engine yet.
struct Conversion {
  Node* node;
  Placement from, to;
};

class Materializer {
 public:
  Materializer(Graph& graph, std::vector<Partition>& partitions, const Target& target)
      : graph_(graph), partitions_(partitions), target_(target), confirmer_(target) {}

  absl::Status Run() {
    for (const Value* v : graph_.inputs()) lies_[v] = Plain(*v);
    for (const Partition& p : partitions_) {
      const Boundary boundary = BoundaryOf(p.chosen.nodes);
      for (size_t i = 0; i < boundary.outputs.size(); ++i) {
        lies_[boundary.outputs[i]] = p.chosen.outputs[i];
      }
    }
    // Outputs first, because whether an Engine runs a conversion may depend on its result being a
    // graph output.
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      Value& value = *graph_.outputs()[i].value;
      if (value.is_constant()) continue;  // a string, which no Step writes
      graph_.SetOutput(static_cast<int>(i), In(value, Plain(value)));
    }
    for (Partition& p : partitions_) FeedPartition(p);
    for (const Conversion& conversion : added_) RETURN_IF_ERROR(AddPartition(conversion));
    return absl::OkStatus();
  }

 private:
  static Placement Plain(const Value& value) {
    return {.format = Format::RowMajor(value.dims()), .space = Space::kDevice};
  }

  void FeedPartition(Partition& p) {
    const Boundary boundary = BoundaryOf(p.chosen.nodes);
    for (size_t i = 0; i < boundary.inputs.size(); ++i) {
      const Value* from = boundary.inputs[i];
      Value& to = In(graph_.Mutable(*from), p.chosen.inputs[i]);
      if (&to == from) continue;
      for (const Node* node : p.chosen.nodes) {
        for (size_t k = 0; k < node->inputs().size(); ++k) {
          if (node->inputs()[k] != from) continue;
          graph_.SetInput(graph_.Mutable(*node), static_cast<int>(k), &to);
        }
      }
    }
  }

  // `value`, or its copy in Placement `want`. If Format and Space both change, the device
  // reformats.
  Value& In(Value& value, const Placement& want) {
    const Placement lies = lies_.at(&value);
    if (lies == want) return value;
    const std::string key =
        absl::StrCat(want.space == Space::kHost ? "host " : "device ", want.format.ToString());
    Value*& copy = copies_[{value.id(), key}];
    if (copy != nullptr) return *copy;
    if (lies.space == want.space) return *(copy = &Convert(value, "Reformat", want));
    const bool to_host = want.space == Space::kHost;
    Value& on_device =
        to_host ? In(value, {.format = want.format, .space = Space::kDevice}) : value;
    const Placement moved = {.format = lies_.at(&on_device).format, .space = want.space};
    copy = moved == want ? &Convert(on_device, "Transfer", want) : &In(In(value, moved), want);
    return *copy;
  }

  Value& Convert(Value& value, std::string_view op, const Placement& to) {
    Node& node = graph_.AddNode(
        {.op = std::string(op), .inputs = {&value}, .domain = std::string(kOwnDomain), .opset = 1});
    graph_.SetType(node.output(0), value.type());
    added_.push_back({&node, lies_.at(&value), to});
    lies_[&node.output(0)] = to;
    return node.output(0);
  }

  absl::Status AddPartition(const Conversion& conversion) {
    std::vector<Candidate> candidates;
    std::vector<std::string> reasons;
    for (const Engine* engine : target_.engines) {
      Candidate candidate{.nodes = {conversion.node},
                          .engine = engine,
                          .inputs = {conversion.from},
                          .outputs = {conversion.to}};
      if (const Support can = engine->Check(graph_, candidate, target_); !can) {
        reasons.push_back(absl::StrCat(engine->name(), ": ", can.reason()));
        continue;
      }
      candidate.cost = engine->Price(candidate, target_);
      candidates.push_back(std::move(candidate));
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.cost.us < b.cost.us; });
    for (const Candidate& candidate : candidates) {
      ASSIGN_OR_RETURN(std::vector<Partition> made, confirmer_.Confirm({candidate}));
      if (made[0].step != nullptr) {
        partitions_.push_back(std::move(made[0]));
        return absl::OkStatus();
      }
      reasons.push_back(absl::StrCat(candidate.engine->name(), ": ",
                                     confirmer_.refused().at(Signature(candidate, target_))));
    }
    return absl::UnimplementedError(
        absl::StrCat("no engine brings \"", conversion.node->input(0).name(), "\" from ",
                     conversion.from.format.ToString(), " to ", conversion.to.format.ToString(),
                     " by a ", conversion.node->op(), ": ", absl::StrJoin(reasons, "; ")));
  }

  Graph& graph_;
  std::vector<Partition>& partitions_;
  const Target& target_;
  Confirmer confirmer_;
  absl::flat_hash_map<const Value*, Placement> lies_;
  std::map<std::pair<int, std::string>, Value*> copies_;  // by Value and Placement
  std::vector<Conversion> added_;
};

}  // namespace

absl::Status MaterializeFormats(Graph& graph, std::vector<Partition>& partitions,
                                const Target& target) {
  return Materializer(graph, partitions, target).Run();
}

}  // namespace onnx_cudnn
