// Finds the Partitions of a Program whose results differ from those of their ops.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/compare.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// What one output differs by from the reference, the worst of those that were compared.
struct OutputCheck {
  int output = 0;         // index in BoundaryOf(nodes).outputs
  Difference difference;  // of that output
  Tolerance tolerance;    // allowed difference of that output
  ErrorFigures figures;   // of that output
  double worst = 0;   // difference.largest as a multiple of the tolerance of the largest element
  std::string wrong;  // anything else: "padding lanes are not zero"; empty: nothing
  std::string not_compared;  // the reason; empty: it was compared

  bool ok() const { return difference.ok() && wrong.empty(); }
};

// A Node of a wrong Partition, run alone on the references' values.
struct OpCheck {
  const Node* node = nullptr;
  std::string engine;  // that ran it: the Partition's, or the first that takes the Node alone
  OutputCheck check;
};

// What f16 and bf16 cost a Partition, against the same ops in f32 on the same inputs.
struct ShortFloatCost {
  double largest = 0;      // |found − f32| of all outputs, finite elements only
  double share = 0;        // the largest difference as a share of its output's largest |f32|
  int64_t overflowed = 0;  // elements that are NaN or infinite, and finite in f32
};

// One Partition, run alone on inputs that the references of the preceding ops computed.
struct PartitionCheck : OutputCheck {
  int partition = 0;         // index in Program::partitions
  std::vector<OpCheck> ops;  // if it is wrong and has several Nodes: each of them
  ShortFloatCost cost;       // zeros: no f16 or bf16, or the ops cannot be computed in f32
};

// Runs every Partition with its own Step, fusion and Variant unchanged, and compares each output
// with what the ops' references compute from the same inputs. Errors do not propagate: the next
// Partition reads the references' values.
//   inputs   row-major, parallel to program.graph.inputs()
//   target   that the Program was built for
//   returns  the worst first: wrong Partitions, then by `worst`; Partitions that move no bytes or
//            run a reference themselves are compared too
//   errors   those of the references for the inputs; those of Steps; ResourceExhausted
//   cost     the time and memory of the references on the host (twice where there is f16 or bf16),
//            and of one run of each Step
absl::StatusOr<std::vector<PartitionCheck>> CheckPartitions(const Program& program,
                                                            absl::Span<const HostTensor> inputs,
                                                            const Target& target, Device& device,
                                                            ConstantStore& constants);

}  // namespace onnx_cudnn
