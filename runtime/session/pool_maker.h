#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/program_table.h"
#include "runtime/session/session_device.h"

namespace onnx_cudnn {

// Creates the ExecutorPools of a Session within its byte limit, Target::max_bytes.
class PoolMaker {
 public:
  // device  must outlive it
  PoolMaker(const SessionDevice& device, const SessionOptions& options)
      : device_(device),
        most_executors_(options.max_executors_per_program),
        capture_(options.cuda_graph) {}

  // Whether the weights and one Executor of `program` fit the limit.
  bool Fits(const Program& program) const;
  // Creates as many Executors as the limit allows.
  //   errors  ResourceExhausted: not even one fits. Unimplemented: an output of an unsupported type
  absl::StatusOr<std::shared_ptr<ExecutorPool>> Make(std::shared_ptr<const Program> program) const;
  // The same within the memory that the serving pool leaves.
  absl::StatusOr<std::shared_ptr<ExecutorPool>> MakeBeside(
      const ExecutorPool& serving, std::shared_ptr<const Program> program) const;
  // ResourceExhausted: `tuned` cannot be timed while `serving` serves, or cannot have as many
  // Executors as `serving` until the last Run on those ends.
  absl::Status CheckFitsBeside(const ExecutorPool& serving, const Program& tuned) const;

 private:
  int64_t ExecutorBytes(const Program& program) const;
  int64_t PoolBytes(const Program& program, int executors) const;  // weights and Executors
  absl::StatusOr<std::shared_ptr<ExecutorPool>> MakeWithin(std::shared_ptr<const Program> program,
                                                           int64_t most_bytes) const;

  const SessionDevice& device_;
  const int most_executors_;
  const bool capture_;
};

}  // namespace onnx_cudnn
