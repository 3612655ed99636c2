#include "runtime/exec/fault_words.h"

#include <algorithm>
#include <atomic>

#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// A device may be writing it at the same time.
uint64_t Load(uint64_t& word) { return std::atomic_ref<uint64_t>(word).load(); }

}  // namespace

absl::StatusOr<FaultWords> FaultWords::Create(const Program& program, Device& device) {
  FaultWords faults;
  for (const Partition& partition : program.partitions) {
    faults.index_.push_back(partition.step->may_fault() ? faults.count_++ : -1);
  }
  if (faults.count_ == 0) return faults;
  const auto bytes = static_cast<int64_t>(faults.count_ * sizeof(uint64_t));
  ASSIGN_OR_RETURN(faults.memory_, device.Allocate(bytes, Space::kHost));
  std::fill_n(faults.words(), faults.count_, 0);
  return faults;
}

uint64_t* FaultWords::word(int step) const {
  return count_ == 0 || index_[step] < 0 ? nullptr : words() + index_[step];
}

bool FaultWords::any() const {
  for (int i = 0; i < count_; ++i) {
    if (Load(words()[i]) != 0) return true;
  }
  return false;
}

absl::Status FaultWords::Take(const Program& program) {
  absl::Status first = absl::OkStatus();
  for (const ScheduledStep& scheduled : program.schedule.steps) {
    uint64_t* const word = this->word(scheduled.step);
    if (word == nullptr || Load(*word) == 0 || !first.ok()) continue;
    const Partition& partition = program.partitions[scheduled.step];
    first = partition.step->Fault(Load(*word));
    // Kernels that read indices run a single Node.
    if (!partition.chosen.nodes.empty()) first = Annotate(first, Where(*partition.chosen.nodes[0]));
  }
  if (count_ > 0) std::fill_n(words(), count_, 0);
  return first;
}

}  // namespace onnx_cudnn
