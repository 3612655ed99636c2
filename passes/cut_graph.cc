#include "passes/cut_graph.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "passes/bind_partly.h"
#include "passes/body_programs.h"
#include "passes/rewrite/utils/scan_as_loop.h"
#include "passes/sweep.h"
#include "runtime/base/status.h"
#include "runtime/graph/deciding_inputs.h"
#include "runtime/graph/infer.h"
#include "runtime/ops/bounded.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/strings.h"

namespace onnx_cudnn {
namespace {

bool IsNumbers(const Value* value) {
  return value == nullptr || (value->is_static() && BitsOf(value->dtype()) > 0);
}

bool HoldsNoTensor(const Value* value) {
  return value != nullptr && value->type().kind != Type::Kind::kTensor &&
         value->type().kind != Type::Kind::kUnknown;
}

template <typename Predicate>
bool AnyValue(const Node& node, Predicate predicate) {
  return std::any_of(node.inputs().begin(), node.inputs().end(), predicate) ||
         std::any_of(node.outputs().begin(), node.outputs().end(), predicate);
}

// Whether a Program runs it.
bool IsOfSegment(const Graph& graph, const Node& node, const BuildOptions& options) {
  if (RunsBetweenPrograms(node)) return false;
  if (AnyValue(node, [](const Value* v) { return !IsNumbers(v); })) return false;
  if (node.bodies().empty()) return true;
  return CheckOp(node) && !RunsFasterAsPrograms(graph, node, options);  // an If or a Scan
}

// Whether a Program may run it once the shapes of its inputs are known.
bool MayBeBounded(const Node& node) {
  const bool is_listed = node.op() == "Compress" || node.op() == "NonMaxSuppression" ||
                         node.op() == "NonZero" || node.op() == "Unique";
  return is_listed && node.domain().empty() && AnyValue(node, [](const Value* v) {
           return v != nullptr && v->type().is_tensor() && !v->is_static();
         });
}

// Collects the parts of a cut.
class PartMaker {
 public:
  explicit PartMaker(const Graph& graph) : graph_(graph) {
    for (const Value* input : graph.inputs()) slots_[input] = cut_.slots++;
  }

  GraphCut::Part Make(const std::vector<const Node*>& nodes) {
    GraphCut::Part part;
    if (nodes.empty()) return part;
    part.graph.set_name(graph_.name());
    part.graph.set_file_opset(graph_.file_opset());
    const Boundary boundary = BoundaryOf(nodes);
    ValueCopies copies;
    for (const Value* v : boundary.inputs) {
      copies[v] = &part.graph.AddInput(v->name(), v->type());
      part.inputs.push_back(slots_.at(v));
    }
    CopyNodes(nodes, part.graph, copies);
    for (const Value* v : boundary.outputs) {
      part.graph.AddOutput(v->name(), *copies.at(v));
      slots_[v] = cut_.slots;
      part.outputs.push_back(cut_.slots++);
    }
    return part;
  }

  GraphCut& cut() { return cut_; }

  // Behind the last part.
  GraphCut Finish() {
    for (const GraphOutput& output : graph_.outputs()) {
      auto [slot, added] = slots_.try_emplace(output.value, cut_.slots);
      if (added) cut_.constants[cut_.slots++] = output.value->constant();
      cut_.outputs.push_back(slot->second);
    }
    return std::move(cut_);
  }

 private:
  const Graph& graph_;
  GraphCut cut_;
  absl::flat_hash_map<const Value*, int> slots_;
};

class Cutter {
 public:
  Cutter(Graph& graph, const BuildOptions& options, const std::vector<NodeRefusal>& refusals)
      : graph_(graph), options_(options), inference_(graph) {
    for (const NodeRefusal& refusal : refusals) {
      if (refusal.id >= 0) refusals_.try_emplace(refusal.id, refusal.why);
    }
  }

  absl::StatusOr<GraphCut> Cut() {
    RETURN_IF_ERROR(Sort());
    return MakeCut(graph_, segment_, nodes_, rest_);
  }

 private:
  enum class Place : uint8_t { kSegment, kNode, kRest };

  // Where the latest of the inputs of `node` is computed.
  Place LatestInput(const Node& node) const {
    Place latest = Place::kSegment;
    for (const Value* v : node.inputs()) {
      if (v == nullptr || v->producer() == nullptr) continue;
      latest = std::max(latest, places_.at(v->producer()));
    }
    return latest;
  }

  static bool WaitsForBound(const Node& node, Place inputs) {
    return inputs == Place::kNode && (MayBeBounded(node) || BoundedFormOf(node).has_value());
  }

  void Put(Node& node, Place place) {
    places_[&node] = place;
    (place == Place::kSegment ? segment_ : place == Place::kNode ? nodes_ : rest_).push_back(&node);
  }

  // Lets the segment compute outputs whose shapes depend on data, as far as types bound their
  // elements. Whether it does.
  bool PutBounded(Node& node) {
    const std::optional<BoundedForm> form = BoundedFormOf(node);
    if (!form.has_value()) return false;
    const BoundedNodes nodes = ReplaceByBounded(graph_, node, *form);
    Put(*nodes.bounded, Place::kSegment);
    for (Node* first : nodes.firsts) Put(*first, Place::kNode);
    knows_inverse_ |= nodes.bounded->has_output(kInverseOfBounded);
    return true;
  }

  absl::Status Sort() {
    for (Node* node : graph_.TopologicalOrder()) {
      const Place inputs = LatestInput(*node);
      // ONNX's inference leaves the shape of a Unique's inverse indices open, BoundedUnique knows
      // it.
      if (inputs == Place::kSegment && knows_inverse_) inference_.Infer(*node).IgnoreError();
      if (inputs == Place::kSegment && PutBounded(*node)) continue;
      Place place = Place::kRest;
      if (inputs == Place::kSegment && IsOfSegment(graph_, *node, options_)) {
        place = Place::kSegment;
      } else if (inputs != Place::kRest && RunsAlone(*node) && !WaitsForBound(*node, inputs)) {
        place = Place::kNode;
      }
      Put(*node, place);
      if (place == Place::kRest && inputs == Place::kSegment) {
        RETURN_IF_ERROR(CheckWaits(*node));
      }
    }
    return absl::OkStatus();
  }

  // Whether a Node with inputs of known types has something to wait for: the elements of an input
  // that the segment computes.
  absl::Status CheckWaits(Node& node) {
    if (const auto refusal = refusals_.find(node.id()); refusal != refusals_.end()) {
      return Annotate(refusal->second, Where(node));
    }
    const std::vector<const Value*> deciders = UnknownDeciders(graph_, node);
    const bool waits = std::any_of(deciders.begin(), deciders.end(), [](const Value* v) {
      return v->producer() != nullptr && v->type().ranked && v->rank() <= 1;
    });
    if (waits) return absl::OkStatus();
    for (const Value* v : node.outputs()) {
      if (v != nullptr && !v->is_static()) return NotStatic(graph_, node, *v);
    }
    return absl::UnimplementedError(absl::StrCat(Where(node), ": ", CheckOp(node).reason()));
  }

  Graph& graph_;
  const BuildOptions& options_;
  ShapeInference inference_;
  bool knows_inverse_ = false;
  absl::flat_hash_map<int, absl::Status> refusals_;
  absl::flat_hash_map<const Node*, Place> places_;
  std::vector<const Node*> segment_, nodes_, rest_;
};

// A Scan that no Program runs becomes a Loop.
absl::Status ReplaceScans(Graph& graph, const BuildOptions& options) {
  bool replaced = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (node->op() != "Scan" || !node->domain().empty()) continue;
    if (IsOfSegment(graph, *node, options)) continue;
    RETURN_IF_ERROR(ScanAsLoop(graph, *node));
    replaced = true;
  }
  if (replaced) SweepDead(graph);
  return absl::OkStatus();
}

}  // namespace

GraphCut MakeCut(const Graph& graph, const std::vector<const Node*>& segment,
                 const std::vector<const Node*>& nodes, const std::vector<const Node*>& rest) {
  PartMaker maker(graph);
  maker.cut().segment = maker.Make(segment);
  for (const Node* node : nodes) maker.cut().nodes.push_back(maker.Make({node}));
  maker.cut().rest = maker.Make(rest);
  return maker.Finish();
}

bool RunsBetweenPrograms(const Node& node) {
  const OpDef* op = FindOp(node);
  if (op != nullptr && op->reference == nullptr && op->evaluate != nullptr) return true;
  if (TouchesStrings(node) || AnyValue(node, HoldsNoTensor)) return true;
  return node.domain().empty() && (node.op() == "Loop" || node.op() == "SequenceMap");
}

bool RunsAlone(const Node& node) {
  return RunsBetweenPrograms(node) || (node.domain().empty() && node.op() == "If");
}

absl::StatusOr<GraphCut> CutGraph(const Graph& graph, absl::Span<const Type> input_types,
                                  const BuildOptions& options) {
  std::vector<NodeRefusal> refusals;
  ASSIGN_OR_RETURN(Graph bound, BindPartly(graph, input_types, options, refusals));
  RETURN_IF_ERROR(ReplaceScans(bound, options));
  return Cutter(bound, options, refusals).Cut();
}

}  // namespace onnx_cudnn
