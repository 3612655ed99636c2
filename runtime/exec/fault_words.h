#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/device.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// A 64-bit word in host memory for each Step that may fault: a kernel stores there what is wrong
// with its input values, and the host reads it when it has waited for the stream anyway.
class FaultWords {
 public:
  FaultWords() = default;  // for a Program that never faults
  // ResourceExhausted: host memory.
  static absl::StatusOr<FaultWords> Create(const Program& program, Device& device);

  uint64_t* word(int step) const;  // nullptr: the Step never faults
  // Whether any word is set. Does not synchronize, so it may miss faults of unfinished work.
  bool any() const;
  // The error of the first Step of `program`, in launch order, that set its word, with the Node's
  // name: the same error as on the CPU device. Clears all words; all streams must be idle.
  absl::Status Take(const Program& program);

 private:
  std::vector<int> index_;  // index of the word, by Step; -1: none
  int count_ = 0;
  std::shared_ptr<std::byte> memory_;
  uint64_t* words() const { return reinterpret_cast<uint64_t*>(memory_.get()); }
};

}  // namespace onnx_cudnn
