#include "runtime/exec/custom_engine.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/graph/custom_op.h"
#include "runtime/ops/op_table.h"
#include "runtime/plan/reference_step.h"

namespace onnx_cudnn {
namespace {

// An operand of the Node: which of the Step's operands, and its type.
struct Wired {
  enum class From : uint8_t { kAbsent, kInput, kConstant, kOutput } from = From::kAbsent;
  size_t index = 0;
  DType dtype = DType::kUndefined;
  Dims dims = {};
};

class CustomStep final : public Step {
 public:
  // graph: one Node; its inputs are the Candidate's, then its constants
  CustomStep(Graph graph, size_t inputs, int device_ordinal)
      : graph_(std::move(graph)),
        node_(*graph_.TopologicalOrder()[0]),
        op_(*FindCustomOp(node_)),
        device_ordinal_(device_ordinal) {
    for (const Value* v : node_.inputs()) in_.push_back(Wire(v, inputs));
    for (const Value* v : node_.outputs()) out_.push_back(Wire(v, inputs));
    for (size_t i = inputs; i < graph_.inputs().size(); ++i) {
      constants_.push_back(Unchanged(static_cast<int>(i - inputs), graph_.inputs()[i]->dims()));
    }
  }

  absl::Span<const Derived> constants() const override { return constants_; }
  std::string Save() const override { return ""; }

  absl::Status Launch(const LaunchArgs& args) const override {
    std::vector<CustomOperand> in, out;
    for (const Wired& wired : in_) in.push_back(OperandOf(wired, args));
    for (const Wired& wired : out_) out.push_back(OperandOf(wired, args));
    return LaunchCustomOp(op_, node_, in, out, device_ordinal_, args.stream.native);
  }

 private:
  Wired Wire(const Value* value, size_t inputs) const {
    if (value == nullptr) return {};
    Wired wired{.dtype = value->dtype(), .dims = value->dims()};
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      if (graph_.inputs()[i] != value) continue;
      wired.from = i < inputs ? Wired::From::kInput : Wired::From::kConstant;
      wired.index = i < inputs ? i : i - inputs;
      return wired;
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      if (graph_.outputs()[i].value != value) continue;
      wired.from = Wired::From::kOutput;
      wired.index = i;
      return wired;
    }
    return {};  // an output that nobody reads
  }

  static CustomOperand OperandOf(const Wired& wired, const LaunchArgs& args) {
    CustomOperand operand{.dtype = wired.dtype, .dims = wired.dims};
    if (wired.from == Wired::From::kInput) operand.data = const_cast<void*>(args.in[wired.index]);
    if (wired.from == Wired::From::kConstant) {
      operand.data = const_cast<void*>(args.constants[wired.index]);
    }
    if (wired.from == Wired::From::kOutput) operand.data = args.out[wired.index];
    return operand;
  }

  const Graph graph_;
  const Node& node_;
  const CustomOp& op_;
  const int device_ordinal_;
  std::vector<Wired> in_, out_;
  std::vector<Derived> constants_;
};

Support CheckCustom(const Node& node) {
  const CustomOp* op = FindCustomOp(node);
  if (op == nullptr) return Support::No("it is not of a user's library");
  if (op->functions.launch == nullptr) return Support::No("its library cannot launch it on a GPU");
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    for (const Value* v : values) {
      if (v == nullptr || v->is_static()) continue;
      return Support::No(absl::StrCat(v->name(), " is ", ToString(v->type()), ", not static"));
    }
  }
  return CheckOp(node);
}

class CustomEngine final : public Engine {
 public:
  explicit CustomEngine(std::optional<int> device_ordinal) : device_ordinal_(device_ordinal) {}

  std::string_view name() const override { return "custom"; }

  void Propose(const Graph&, const Node& anchor, const Target& target,
               CandidateSink& sink) const override {
    if (FindCustomOp(anchor) == nullptr) return;  // no reason that helps anyone
    const Support support = CheckCustom(anchor);
    if (!support) return sink.No(*this, anchor, support.reason());
    sink.Add(RowMajorCandidate(*this, anchor, Space::kDevice, target));
  }

  Support Check(const Graph&, const Candidate& candidate, const Target&) const override {
    if (candidate.nodes.size() != 1) return Support::No("custom runs one node at a time");
    const Support support = CheckCustom(*candidate.nodes[0]);
    if (!support) return support;
    const Boundary boundary = BoundaryOf(candidate.nodes);
    const Support inputs = CheckPlaced(boundary.inputs, candidate.inputs);
    return inputs ? CheckPlaced(boundary.outputs, candidate.outputs) : inputs;
  }

  Cost Price(const Candidate& candidate, const Target& target) const override {
    const Node& node = *candidate.nodes[0];
    Cost cost = Roofline(candidate, target);
    const double us = PriceOfCustomOp(*FindCustomOp(node), node).us;
    if (us > 0) {
      cost.us = us;
      cost.from = "library";
    }
    return cost;
  }

  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant&,
                                   const Target&) const override {
    if (!device_ordinal_.has_value()) return CompileReference(candidate);
    return Compiled::As(std::make_shared<CustomStep>(Extract(candidate.nodes),
                                                     candidate.inputs.size(), *device_ordinal_));
  }

 private:
  static Support CheckPlaced(const std::vector<const Value*>& values,
                             const std::vector<Placement>& placements) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (placements[i].space == Space::kDevice &&
          placements[i].format == Format::RowMajor(values[i]->dims())) {
        continue;
      }
      return Support::No(absl::StrCat(values[i]->name(), " is not row-major on the device"));
    }
    return Support::Yes();
  }

  const std::optional<int> device_ordinal_;
};

}  // namespace

std::unique_ptr<Engine> MakeCustomEngine(std::optional<int> device_ordinal) {
  return std::make_unique<CustomEngine>(device_ordinal);
}

}  // namespace onnx_cudnn
