#include "runtime/exec/partition_check.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/status.h"
#include "runtime/exec/in_f32.h"
#include "runtime/exec/step_runner.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/random_draw.h"
#include "runtime/plan/pricer.h"

namespace onnx_cudnn {
namespace {

// Values of a Graph as computed by the references; each is kept until its last reader has run.
class ReferenceValues {
 public:
  ReferenceValues(const Program& program, absl::Span<const HostTensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) values_[program.graph.inputs()[i]] = inputs[i];
    for (const Partition& partition : program.partitions) {
      for (const Value* v : BoundaryOf(partition.chosen.nodes).inputs) ++readers_[v];
    }
  }
  const HostTensor& Of(const Value& value) const { return values_.at(&value); }
  void Set(const Value& value, HostTensor tensor) { values_[&value] = std::move(tensor); }
  void Release(const Value& value) {
    if (--readers_[&value] == 0) values_.erase(&value);
  }

 private:
  absl::flat_hash_map<const Value*, HostTensor> values_;
  absl::flat_hash_map<const Value*, int> readers_;  // readers that have not run yet
};

// Which padding or foreign lanes were written, as text; empty: none.
std::string WrongLanes(const StepResult& result) {
  if (!result.padding_is_zero) return "padding lanes are not zero";
  return result.foreign_is_kept ? "" : "lanes of other tensors are written";
}

// The size of `difference` relative to the tolerance of the largest element.
double Multiple(const Difference& difference, const Tolerance& tolerance) {
  const double allowed = (tolerance.relative + tolerance.absolute) * difference.largest_expected;
  if (difference.largest == 0) return 0;
  return allowed == 0 ? difference.largest : difference.largest / allowed;
}

bool IsWorse(const OutputCheck& a, const OutputCheck& b) {
  const auto rank = [](const OutputCheck& c) {
    return std::tuple(c.ok(), -c.worst, !c.not_compared.empty());
  };
  return rank(a) < rank(b);
}

bool IsRandom(absl::Span<const Node* const> nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return IsRandom(*node); });
}

// `found`, in the Program's types, against `exact`, in f32.
absl::StatusOr<ShortFloatCost> CostOf(absl::Span<const HostTensor> found,
                                      absl::Span<const HostTensor> exact) {
  ShortFloatCost cost;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!kFloatTypes.Has(found[i].dtype())) continue;
    ASSIGN_OR_RETURN(const std::vector<double> x, ElementsAsDoubles(found[i]));
    ASSIGN_OR_RETURN(const std::vector<double> y, ElementsAsDoubles(exact[i]));
    double largest = 0, largest_exact = 0;
    for (size_t j = 0; j < x.size(); ++j) {
      if (!std::isfinite(y[j])) continue;
      largest_exact = std::max(largest_exact, std::abs(y[j]));
      if (std::isfinite(x[j])) {
        largest = std::max(largest, std::abs(x[j] - y[j]));
      } else {
        ++cost.overflowed;
      }
    }
    cost.largest = std::max(cost.largest, largest);
    if (largest_exact > 0) cost.share = std::max(cost.share, largest / largest_exact);
  }
  return cost;
}

// The Candidates of one Node alone that an Engine proposes.
class Singles final : public CandidateSink {
 public:
  explicit Singles(const Node& node) : node_(node) {}
  void Add(Candidate candidate) override {
    const bool is_it = candidate.nodes.size() == 1 && candidate.nodes[0] == &node_;
    if (is_it) candidates.push_back(std::move(candidate));
  }
  void No(const Engine&, const Node&, std::string) override {}

  std::vector<Candidate> candidates;

 private:
  const Node& node_;
};

class Checker {
 public:
  Checker(const Program& program, absl::Span<const HostTensor> inputs, const Target& target,
          Device& device, ConstantStore& constants)
      : program_(program),
        values_(program, inputs),
        target_(target),
        device_(device),
        constants_(constants) {}

  absl::StatusOr<PartitionCheck> Check(int partition) {
    const Candidate& candidate = program_.partitions[partition].chosen;
    const Boundary boundary = BoundaryOf(candidate.nodes);
    std::vector<HostTensor> sources;
    for (const Value* v : boundary.inputs) sources.push_back(values_.Of(*v));
    for (const Value* v : boundary.constants) sources.push_back(v->constant());
    ASSIGN_OR_RETURN(const std::vector<HostTensor> expected,
                     Evaluate(Extract(candidate.nodes), sources));
    for (size_t i = 0; i < expected.size(); ++i) values_.Set(*boundary.outputs[i], expected[i]);
    for (const Value* v : boundary.inputs) values_.Release(*v);
    PartitionCheck check;
    check.partition = partition;
    if (IsRandom(candidate.nodes)) {
      check.not_compared = "its numbers are random";
      return check;
    }
    const absl::Span<const HostTensor> read =
        absl::MakeSpan(sources).subspan(0, boundary.inputs.size());
    ASSIGN_OR_RETURN(const StepResult result,
                     RunAlone(candidate, program_.partitions[partition].step, read));
    ASSIGN_OR_RETURN(static_cast<OutputCheck&>(check), Compared(candidate, result, expected));
    if (HasShortFloats(candidate.nodes)) AddCost(candidate, sources, result, check);
    if (!check.ok() && candidate.nodes.size() > 1) {
      ASSIGN_OR_RETURN(check.ops, CheckOps(candidate, boundary, sources));
    }
    return check;
  }

 private:
  absl::StatusOr<StepResult> RunAlone(const Candidate& candidate,
                                      const std::shared_ptr<const Step>& step,
                                      absl::Span<const HostTensor> read) {
    ASSIGN_OR_RETURN(const auto runner, StepRunner::Create(candidate, step, device_, constants_));
    return runner->Run(read, StepRunner::Padding::kZero);
  }

  absl::StatusOr<OutputCheck> Compared(const Candidate& candidate, const StepResult& result,
                                       absl::Span<const HostTensor> expected) const {
    OutputCheck worst;
    worst.worst = -1;  // nothing was compared yet
    worst.wrong = WrongLanes(result);
    std::string not_compared;
    for (size_t i = 0; i < expected.size(); ++i) {
      OutputCheck check = worst;
      check.output = static_cast<int>(i);
      check.tolerance = ToleranceOf(candidate.nodes, expected[i].dtype(), target_.numerics.tf32);
      absl::StatusOr<Difference> difference = Compare(
          result.outputs[i], expected[i], check.tolerance.relative, check.tolerance.absolute);
      if (absl::IsUnimplemented(difference.status())) {  // the type cannot be read as numbers
        not_compared = std::string(difference.status().message());
        continue;
      }
      ASSIGN_OR_RETURN(check.difference, std::move(difference));
      check.worst = Multiple(check.difference, check.tolerance);
      if (check.difference.type.empty()) {
        ASSIGN_OR_RETURN(check.figures, FiguresOf(result.outputs[i], expected[i]));
      }
      if (IsWorse(check, worst)) worst = std::move(check);
    }
    if (worst.worst < 0) worst.worst = 0, worst.not_compared = std::move(not_compared);
    return worst;
  }

  // Nothing where the ops cannot be computed in f32.
  static void AddCost(const Candidate& candidate, absl::Span<const HostTensor> sources,
                      const StepResult& result, PartitionCheck& check) {
    const absl::StatusOr<std::vector<HostTensor>> exact = EvaluateInF32(candidate.nodes, sources);
    if (!exact.ok()) return;
    absl::StatusOr<ShortFloatCost> cost = CostOf(result.outputs, *exact);
    if (cost.ok()) check.cost = *cost;
  }

  //   sources  the inputs of `boundary`, then its constants
  absl::StatusOr<std::vector<OpCheck>> CheckOps(const Candidate& candidate,
                                                const Boundary& boundary,
                                                absl::Span<const HostTensor> sources) {
    absl::flat_hash_map<const Value*, HostTensor> values;
    for (size_t i = 0; i < boundary.inputs.size(); ++i) values[boundary.inputs[i]] = sources[i];
    std::vector<OpCheck> checks;
    for (const Node* node : candidate.nodes) {
      const Boundary of_node = BoundaryOf({{node}});
      std::vector<HostTensor> read;
      for (const Value* v : of_node.inputs) read.push_back(values.at(v));
      std::vector<HostTensor> all = read;
      for (const Value* v : of_node.constants) all.push_back(v->constant());
      ASSIGN_OR_RETURN(const std::vector<HostTensor> expected, Evaluate(Extract({{node}}), all));
      for (size_t i = 0; i < expected.size(); ++i) values[of_node.outputs[i]] = expected[i];
      checks.push_back(CheckOp(*node, *candidate.engine, read, expected));
    }
    return checks;
  }

  // On `engine`, or on the first other one that takes the Node alone.
  OpCheck CheckOp(const Node& node, const Engine& engine, absl::Span<const HostTensor> read,
                  absl::Span<const HostTensor> expected) {
    OpCheck op{.node = &node};
    op.check.not_compared = "no engine takes it alone";
    std::vector<const Engine*> engines = {&engine};
    engines.insert(engines.end(), target_.engines.begin(), target_.engines.end());
    for (const Engine* each : engines) {
      Singles singles(node);
      each->Propose(program_.graph, node, target_, singles);
      for (const Candidate& single : singles.candidates) {
        const absl::StatusOr<Choice> choice = FirstThatCompiles(single, target_);
        if (!choice.ok() || choice->compiled.step() == nullptr) continue;
        op.engine = std::string(each->name());
        absl::StatusOr<OutputCheck> check =
            CheckSingle(single, choice->compiled.step(), read, expected);
        if (check.ok()) {
          op.check = *std::move(check);
        } else {
          op.check.not_compared = std::string(check.status().message());
        }
        return op;
      }
    }
    return op;
  }

  absl::StatusOr<OutputCheck> CheckSingle(const Candidate& single,
                                          const std::shared_ptr<const Step>& step,
                                          absl::Span<const HostTensor> read,
                                          absl::Span<const HostTensor> expected) {
    ASSIGN_OR_RETURN(const StepResult result, RunAlone(single, step, read));
    return Compared(single, result, expected);
  }

  const Program& program_;
  ReferenceValues values_;
  const Target& target_;
  Device& device_;
  ConstantStore& constants_;
};

}  // namespace

absl::StatusOr<std::vector<PartitionCheck>> CheckPartitions(const Program& program,
                                                            absl::Span<const HostTensor> inputs,
                                                            const Target& target, Device& device,
                                                            ConstantStore& constants) {
  Checker checker(program, inputs, target, device, constants);
  std::vector<PartitionCheck> checks;
  for (size_t p = 0; p < program.partitions.size(); ++p) {
    ASSIGN_OR_RETURN(PartitionCheck check, checker.Check(static_cast<int>(p)));
    checks.push_back(std::move(check));
  }
  std::stable_sort(checks.begin(), checks.end(), IsWorse);
  return checks;
}

}  // namespace onnx_cudnn
