#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// One arena, its streams and the constants of one Program. Serves one caller at a time.
class Executor {
 public:
  // ResourceExhausted: the arena or a constant does not fit.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(std::shared_ptr<const Program> program,
                                                          Device& device, ConstantStore& constants);
  ~Executor();

  // inputs, outputs  parallel to the Graph's, row-major, of the sizes its types say, strings as
  // std::string objects; outputs overlap nothing
  //                  (an empty tensor's pointer may be null)
  // Returns when the outputs are written. Values out of range at run time are InvalidArgument, with
  // the Node's name.
  absl::Status Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs);

  const Program& program() const { return *program_; }
  int64_t arena_bytes() const;

 private:
  Executor() = default;
  struct Launchable;  // a Step with its resolved operands
  std::byte* InArena(Space space, int64_t offset) const;
  absl::Status Resolve(int index, ConstantStore& constants);
  absl::Status Launch(int index, absl::Span<const void* const> inputs,
                      absl::Span<void* const> outputs);
  absl::Status LaunchStep(Launchable& launchable, absl::Span<const void* const> inputs,
                          absl::Span<void* const> outputs);

  std::shared_ptr<const Program> program_;
  std::unique_ptr<StreamSet> streams_;
  std::shared_ptr<std::byte> arena_, host_arena_;
  std::vector<std::shared_ptr<const std::byte>> constants_;
  std::vector<Launchable> steps_;
  std::vector<int> events_;  // by Step, of the Run in progress
  bool poison_ = false;
};

}  // namespace onnx_cudnn
