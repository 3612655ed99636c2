#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/device.h"
#include "runtime/plan/pricer.h"
#include "runtime/tune/device_check.h"
#include "runtime/tune/reference.h"
#include "runtime/tune/trials.h"

namespace onnx_cudnn {

// The Variants of one Candidate against each other. A Variant that fails while it is tried is out,
// as one that was refused is; a lost device alone is an error.
class Race {
 public:
  // All outlive it.
  Race(const Trials& trials, Device& device, ConstantStore& constants)
      : trials_(trials),
        candidate_(trials.candidate()),
        target_(trials.target()),
        device_(device),
        constants_(constants) {}

  // 1. Asks for the Variants, of which the first 16 take part that did not fail before.
  absl::Status List();
  int variants() const { return static_cast<int>(attempts_.size()); }
  // 2. Of each Variant; any number at once.
  absl::Status Compile(int variant);
  // 3. Alone on the Device.
  absl::Status Time();
  // Of the Candidate's inputs and outputs: what Decide works on, several times over.
  int64_t operand_bytes() const;
  // 4. The fastest whose outputs agree with the Candidate's Nodes, run one by one by plain kernels
  // over seeded inputs; where no such inputs are found, the first that compiled. Any number of
  // Races at once.
  absl::Status Decide();

  const Choice& choice() const { return choice_; }
  bool checked() const { return checked_; }
  // Variants that were fastest and wrong, or why nothing was checked: engine, first Node, Variant,
  // what differs.
  const std::vector<std::string>& notes() const { return notes_; }
  // What need not be tried again: Variants that were wrong or could not be run; where there is no
  // winner, the Candidate. Nothing of what a lack of memory stopped.
  const std::vector<FailedVariant>& failed() const { return failed_; }

 private:
  struct Attempt {
    Variant variant;
    Compiled compiled;
    double us = 0;
  };
  absl::Status Drop(Attempt& attempt, const absl::Status& why);
  void Refuse();
  absl::StatusOr<double> TimeOne(std::shared_ptr<const Step> step, double& best_first_us,
                                 std::vector<std::shared_ptr<std::byte>>& inputs) const;
  std::vector<const Attempt*> FastestFirst() const;
  absl::Status CheckInOrder(const std::vector<const Attempt*>& order, Reference& reference);
  // What `attempt` does wrong; empty: nothing. Told to the observer.
  absl::StatusOr<std::string> TryWrongOf(const Attempt& attempt, Reference& reference,
                                         DeviceCheck& on_device) const;
  absl::StatusOr<std::string> WrongOf(const Attempt& attempt, Reference& reference,
                                      DeviceCheck& on_device) const;
  void Note(const Attempt& attempt, std::string_view what);
  void Win(const Attempt& attempt);

  const Trials& trials_;
  const Candidate& candidate_;
  const Target& target_;
  Device& device_;
  ConstantStore& constants_;
  std::vector<Attempt> attempts_;
  Choice choice_;
  bool checked_ = true;
  bool lacked_memory_ = false;
  std::vector<std::string> notes_;
  std::vector<FailedVariant> failed_;
};

}  // namespace onnx_cudnn
