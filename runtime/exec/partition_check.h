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

// One Partition, run alone on inputs that the references of the preceding ops computed.
struct PartitionCheck {
  int partition = 0;      // index in Program::partitions
  int output = 0;         // index of the worst output in BoundaryOf(nodes).outputs
  Difference difference;  // of that output
  Tolerance tolerance;    // allowed difference of that output
  double worst = 0;   // difference.largest as a multiple of the tolerance of the largest element
  std::string wrong;  // anything else: "padding lanes are not zero"; empty: nothing
  std::string not_compared;  // the reason; empty: it was compared

  bool ok() const { return difference.ok() && wrong.empty(); }
};

// Runs every Partition with its own Step, fusion and Variant unchanged, and compares each output
// with what the ops' references compute from the same inputs. Errors do not propagate: the next
// Partition reads the references' values.
//   inputs   row-major, parallel to program.graph.inputs()
//   tf32     whether f32 products may round their operands (Target::numerics)
//   returns  the worst first: wrong Partitions, then by `worst`; Partitions that move no bytes or
//            run a reference themselves are compared too
//   errors   those of the references for the inputs; those of Steps; ResourceExhausted
//   cost     the time and memory of the references on the host, and of one run of each Step
absl::StatusOr<std::vector<PartitionCheck>> CheckPartitions(const Program& program,
                                                            absl::Span<const HostTensor> inputs,
                                                            bool tf32, Device& device,
                                                            ConstantStore& constants);

}  // namespace onnx_cudnn
