// Which Partition of a Program computes something else than its ops.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/compare.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// One Partition, run alone over what the references of the ops before it write.
struct PartitionCheck {
  int partition = 0;      // its index in Program::partitions
  int output = 0;         // the one that is worst, among BoundaryOf(nodes).outputs
  Difference difference;  // of that output
  Tolerance tolerance;    // what it may differ by
  double worst = 0;   // difference.largest as a multiple of what the largest element may differ by
  std::string wrong;  // beside numbers: "padding lanes are not zero"; empty: nothing
  std::string not_compared;  // why; empty: it was

  bool ok() const { return difference.ok() && wrong.empty(); }
};

// Runs every Partition by its own Step, fusion and Variant unchanged, and compares each output with
// what the ops' references write for the same inputs. A Partition's error thus stays its own: the
// next one reads the references' values.
//   inputs   row-major, parallel to program.graph.inputs()
//   tf32     whether f32 products may round their operands (Target::numerics)
//   returns  the worst first: those that are wrong, then by `worst`; Partitions that move no bytes
//            or run an op's reference itself are compared all the same
//   errors   what a reference says of the inputs; those of Steps; ResourceExhausted
//   cost     the time and memory of the references on the host, and of one run of each Step
absl::StatusOr<std::vector<PartitionCheck>> CheckPartitions(const Program& program,
                                                            absl::Span<const HostTensor> inputs,
                                                            bool tf32, Device& device,
                                                            ConstantStore& constants);

}  // namespace onnx_cudnn
