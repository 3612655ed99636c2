#include "runtime/exec/partition_check.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/status.h"
#include "runtime/exec/step_runner.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/random_draw.h"

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

bool IsWorse(const PartitionCheck& a, const PartitionCheck& b) {
  const auto rank = [](const PartitionCheck& c) {
    return std::tuple(c.ok(), -c.worst, !c.not_compared.empty());
  };
  return rank(a) < rank(b);
}

class Checker {
 public:
  Checker(const Program& program, absl::Span<const HostTensor> inputs, bool tf32, Device& device,
          ConstantStore& constants)
      : program_(program),
        values_(program, inputs),
        tf32_(tf32),
        device_(device),
        constants_(constants) {}

  absl::StatusOr<PartitionCheck> Check(int partition) {
    const Candidate& candidate = program_.partitions[partition].chosen;
    const Boundary boundary = BoundaryOf(candidate.nodes);
    std::vector<HostTensor> read;
    for (const Value* v : boundary.inputs) read.push_back(values_.Of(*v));
    std::vector<HostTensor> sources = read;
    for (const Value* v : boundary.constants) sources.push_back(v->constant());
    ASSIGN_OR_RETURN(const std::vector<HostTensor> expected,
                     Evaluate(Extract(candidate.nodes), sources));
    for (size_t i = 0; i < expected.size(); ++i) values_.Set(*boundary.outputs[i], expected[i]);
    for (const Value* v : boundary.inputs) values_.Release(*v);
    if (std::any_of(candidate.nodes.begin(), candidate.nodes.end(),
                    [](const Node* node) { return IsRandom(*node); })) {
      PartitionCheck unknown;
      unknown.partition = partition;
      unknown.not_compared = "its numbers are random";
      return unknown;
    }
    return Compared(partition, read, expected);
  }

 private:
  absl::StatusOr<PartitionCheck> Compared(int partition, absl::Span<const HostTensor> read,
                                          absl::Span<const HostTensor> expected) {
    const auto& [candidate, variant, step] = program_.partitions[partition];
    ASSIGN_OR_RETURN(const auto runner, StepRunner::Create(candidate, step, device_, constants_));
    ASSIGN_OR_RETURN(const StepResult result, runner->Run(read, StepRunner::Padding::kZero));
    PartitionCheck worst;
    worst.partition = partition;
    worst.worst = -1;  // nothing was compared yet
    worst.wrong = WrongLanes(result);
    std::string not_compared;
    for (size_t i = 0; i < expected.size(); ++i) {
      PartitionCheck check = worst;
      check.output = static_cast<int>(i);
      check.tolerance = ToleranceOf(candidate.nodes, expected[i].dtype(), tf32_);
      absl::StatusOr<Difference> difference = Compare(
          result.outputs[i], expected[i], check.tolerance.relative, check.tolerance.absolute);
      if (absl::IsUnimplemented(difference.status())) {  // the type cannot be read as numbers
        not_compared = std::string(difference.status().message());
        continue;
      }
      ASSIGN_OR_RETURN(check.difference, std::move(difference));
      check.worst = Multiple(check.difference, check.tolerance);
      if (IsWorse(check, worst)) worst = std::move(check);
    }
    if (worst.worst < 0) worst.worst = 0, worst.not_compared = std::move(not_compared);
    return worst;
  }

  const Program& program_;
  ReferenceValues values_;
  const bool tf32_;
  Device& device_;
  ConstantStore& constants_;
};

}  // namespace

absl::StatusOr<std::vector<PartitionCheck>> CheckPartitions(const Program& program,
                                                            absl::Span<const HostTensor> inputs,
                                                            bool tf32, Device& device,
                                                            ConstantStore& constants) {
  Checker checker(program, inputs, tf32, device, constants);
  std::vector<PartitionCheck> checks;
  for (size_t p = 0; p < program.partitions.size(); ++p) {
    ASSIGN_OR_RETURN(PartitionCheck check, checker.Check(static_cast<int>(p)));
    checks.push_back(std::move(check));
  }
  std::stable_sort(checks.begin(), checks.end(), IsWorse);
  return checks;
}

}  // namespace onnx_cudnn
