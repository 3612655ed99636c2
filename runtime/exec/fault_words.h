#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/device.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// A 64-bit word in host memory for each Step that may fault: a kernel stores there what it found
// wrong in the numbers it was given, the host reads it when the stream was waited for anyway.
class FaultWords {
 public:
  FaultWords() = default;  // of a Program that never faults
  // ResourceExhausted: host memory.
  static absl::StatusOr<FaultWords> Create(const Program& program, Device& device);

  uint64_t* word(int step) const;  // nullptr: the Step never faults
  // Whether some word is set; asks no stream, so that of work under way it may not know yet.
  bool any() const;
  // The error of the first Step of `program` that set its word, in the order of launches, with its
  // Node: what the CPU device says. Clears all words; no stream may be at work.
  absl::Status Take(const Program& program);

 private:
  std::vector<int> index_;  // by Step: of its word, -1: none
  int count_ = 0;
  std::shared_ptr<std::byte> memory_;
  uint64_t* words() const { return reinterpret_cast<uint64_t*>(memory_.get()); }
};

}  // namespace onnx_cudnn
