#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/profile.h"
#include "onnx_cudnn/tensor.h"
#include "runtime/plan/engine.h"
#include "runtime/session/program_table.h"

namespace onnx_cudnn {

// Times the steps of the Program of `pool` in Runs on a caller's tensors, with outputs in new host
// memory and an Executor of its own.
//   inputs  parallel to the Program's, with their dtypes and dims
//   target  gives the lower bounds
//   errors  InvalidArgument: no runs; those of Runs
absl::StatusOr<RunProfile> ProfileProgram(const ExecutorPool& pool,
                                          const std::vector<const TensorView*>& inputs,
                                          const Target& target, const ProfileOptions& options);

// What profiles of one Program and of several share.

inline constexpr size_t kProfileWarmUps = 2;  // runs before those that count

absl::Status CheckRuns(const ProfileOptions& options);  // InvalidArgument: none
double MedianOf(std::vector<double> values);            // of at least one
// The Steps that launch something.
std::vector<int> LaunchedSteps(const Program& program);
// These, without times.
std::vector<ProfiledStep> DescribeSteps(const Program& program, const std::vector<int>& launched,
                                        const Target& target);
// Sets the times of steps and copies from those of the runs.
void AddMedians(RunProfile& profile);

}  // namespace onnx_cudnn
