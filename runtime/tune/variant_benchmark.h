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

// Finds the fastest correct Variant of one Candidate. A Variant that is refused, or fails while it
// is tried, is skipped; only a lost device is an error. Call in this order: List, Compile for each
// Variant, Time, Decide.
class VariantBenchmark {
 public:
  // The references must outlive it.
  VariantBenchmark(const Trials& trials, Device& device, ConstantStore& constants)
      : trials_(trials),
        candidate_(trials.candidate()),
        target_(trials.target()),
        device_(device),
        constants_(constants) {}

  // Takes the Engine's first 16 Variants that have not failed before.
  absl::Status List();
  int variants() const { return static_cast<int>(attempts_.size()); }
  // Compiles one Variant, if there is any. Thread-safe for different Variants, as is LeaveOut.
  absl::Status Compile(int variant);
  void LeaveOut(int variant) { attempts_[variant].is_left_out = true; }  // there is no time for it
  int left_out() const;
  // Times each Variant; nothing else may run on the Device meanwhile.
  absl::Status Time();
  // Bytes of the Candidate's inputs and outputs, which Decide reads and writes several times.
  int64_t operand_bytes() const;
  // Chooses the fastest Variant whose outputs agree with those of the Candidate's Nodes, run one by
  // one by plain kernels on seeded inputs; if no usable inputs are found, the first Variant that
  // compiled. May run concurrently with Decide of other VariantBenchmarks.
  absl::Status Decide();

  const Choice& choice() const { return choice_; }
  // The first Variant, not timed; no Step if it did not compile.
  Choice untimed() const;
  bool checked() const { return checked_; }
  // Fast Variants that were wrong, or why nothing was checked: engine, first Node, Variant, what
  // differs.
  const std::vector<std::string>& notes() const { return notes_; }
  // What is not tried again: Variants that were wrong or could not run, and the Candidate if none
  // was correct. Does not include what failed for lack of memory.
  const std::vector<FailedVariant>& failed() const { return failed_; }

 private:
  struct Attempt {
    Variant variant;
    Compiled compiled;
    double us = 0;
    bool is_left_out = false;
  };
  absl::Status Drop(Attempt& attempt, const absl::Status& why);
  void Refuse();
  absl::StatusOr<double> TimeOne(std::shared_ptr<const Step> step, double& best_first_us,
                                 std::vector<std::shared_ptr<std::byte>>& inputs) const;
  std::vector<const Attempt*> FastestFirst() const;
  absl::Status CheckInOrder(const std::vector<const Attempt*>& order, Reference& reference);
  // WrongOf, reported to the observer.
  absl::StatusOr<std::string> TryWrongOf(const Attempt& attempt, Reference& reference,
                                         DeviceCheck& on_device) const;
  // What is wrong with the outputs of `attempt`; empty: nothing.
  absl::StatusOr<std::string> WrongOf(const Attempt& attempt, Reference& reference,
                                      DeviceCheck& on_device) const;
  void Note(const Attempt& attempt, std::string_view what);
  void Choose(const Attempt& attempt);

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
