#include "runtime/tune/variant_benchmark.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/exec/compare.h"
#include "runtime/exec/step_runner.h"

namespace onnx_cudnn {
namespace {

// More Variants gain less than one percent (docs/measurements.md, 'Convolutions of ResNet-50 in
// cuDNN').
constexpr size_t kMostVariants = 16;
// Duration of one timed replay; the clock's resolution is half a microsecond.
constexpr double kReplayUs = 300;
constexpr double kMostRepeats = 256;
// A Variant whose single launch takes longer than the best by this factor is not timed further.
constexpr double kHopeless = 1.5;

}  // namespace

absl::Status VariantBenchmark::Drop(Attempt& attempt, const absl::Status& why) {
  if (absl::IsFailedPrecondition(why)) return why;
  if (absl::IsResourceExhausted(why)) lacked_memory_ = true;
  attempt.compiled = Compiled::No(std::string(why.message()));
  return absl::OkStatus();
}

absl::Status VariantBenchmark::List() {
  ASSIGN_OR_RETURN(std::vector<Variant> variants, candidate_.engine->Variants(candidate_, target_));
  for (Variant& variant : variants) {
    if (attempts_.size() == kMostVariants) break;
    attempts_.push_back({std::move(variant)});
    const std::string against = trials_.Against(attempts_.back().variant);
    if (against.empty()) continue;
    Note(attempts_.back(), absl::StrCat("left out: it ", against));
    attempts_.pop_back();
    choice_.compiled = Compiled::No(notes_.back());
  }
  return absl::OkStatus();
}

absl::Status VariantBenchmark::Compile(int variant) {
  if (attempts_.empty()) return absl::OkStatus();
  Attempt& attempt = attempts_[variant];
  absl::StatusOr<Compiled> compiled = trials_.Compile(attempt.variant);
  if (!compiled.ok()) return Drop(attempt, compiled.status());
  attempt.compiled = *std::move(compiled);
  return absl::OkStatus();
}

int VariantBenchmark::left_out() const {
  return static_cast<int>(std::count_if(attempts_.begin(), attempts_.end(),
                                        [](const auto& a) { return a.is_left_out; }));
}

Choice VariantBenchmark::untimed() const {
  if (attempts_.empty()) return choice_;
  return {.variant = attempts_[0].variant, .compiled = attempts_[0].compiled};
}

absl::Status VariantBenchmark::Time() {
  double best_first_us = std::numeric_limits<double>::infinity();
  std::vector<std::shared_ptr<std::byte>> inputs;  // with data
  for (Attempt& attempt : attempts_) {
    RETURN_IF_ERROR(CheckCancelled());
    const std::shared_ptr<const Step>& step = attempt.compiled.step();
    if (step == nullptr || !step->launches()) continue;  // a view takes 0 us
    const absl::Status timed = trials_.Try(attempt.variant, [&]() -> absl::Status {
      ASSIGN_OR_RETURN(attempt.us, TimeOne(step, best_first_us, inputs));
      return absl::OkStatus();
    });
    if (timed.ok()) continue;
    RETURN_IF_ERROR(Drop(attempt, timed));
    if (absl::IsResourceExhausted(timed)) continue;
    failed_.push_back(trials_.Failed(attempt.variant, kBroke, std::string(timed.message())));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> VariantBenchmark::TimeOne(
    std::shared_ptr<const Step> step, double& best_first_us,
    std::vector<std::shared_ptr<std::byte>>& inputs) const {
  // `inputs` are shared with the other Variants
  const bool shares = StepRunner::RunsInPlace(*step);
  const std::vector<std::shared_ptr<std::byte>> none;
  ASSIGN_OR_RETURN(const auto runner, StepRunner::Create(candidate_, std::move(step), device_,
                                                         constants_, shares ? inputs : none));
  if (!shares || inputs.empty()) RETURN_IF_ERROR(runner->FillInputs());
  if (shares && inputs.empty()) inputs = runner->inputs();
  ASSIGN_OR_RETURN(const double first_us, runner->MeasureUs(1));
  const bool is_hopeless = first_us > kHopeless * best_first_us;
  best_first_us = std::min(best_first_us, first_us);
  const auto repeats = static_cast<int>(std::clamp(kReplayUs / first_us, 1.0, kMostRepeats));
  if (is_hopeless || repeats == 1) return first_us;
  return runner->MeasureUs(repeats, StepRunner::Constants::kCold);
}

std::vector<const VariantBenchmark::Attempt*> VariantBenchmark::FastestFirst() const {
  std::vector<const Attempt*> order;
  for (const Attempt& attempt : attempts_) {
    if (attempt.compiled.step() != nullptr) order.push_back(&attempt);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Attempt* a, const Attempt* b) { return a->us < b->us; });
  return order;
}

int64_t VariantBenchmark::operand_bytes() const {
  const Boundary boundary = BoundaryOf(candidate_.nodes);
  int64_t bytes = 0;
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    bytes += candidate_.inputs[i].format.bytes(boundary.inputs[i]->dtype());
  }
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    bytes += candidate_.outputs[i].format.bytes(boundary.outputs[i]->dtype());
  }
  return bytes;
}

absl::Status VariantBenchmark::Decide() {
  const std::vector<const Attempt*> order = FastestFirst();
  if (order.empty()) {
    if (!attempts_.empty()) choice_.compiled = attempts_.back().compiled;
    choice_.is_left_out = left_out() > 0;
    Refuse();
    return absl::OkStatus();
  }
  // A view moves nothing, and `host` runs the reference itself.
  if (!order[0]->compiled.step()->launches() || candidate_.engine->name() == "host") {
    Choose(*order[0]);
    return absl::OkStatus();
  }
  absl::Status why_not;
  for (const IndexValues indices : {IndexValues::kZeroOrOne, IndexValues::kZero}) {
    Reference reference(candidate_, target_, device_, constants_);
    why_not = reference.Run(indices);
    if (why_not.ok()) return CheckInOrder(order, reference);
    if (absl::IsFailedPrecondition(why_not)) return why_not;
  }
  const Attempt& first = **std::min_element(order.begin(), order.end());
  checked_ = false;
  Note(first, absl::StrCat("not checked: ", why_not.message()));
  Choose(first);
  return absl::OkStatus();
}

absl::Status VariantBenchmark::CheckInOrder(const std::vector<const Attempt*>& order,
                                            Reference& reference) {
  DeviceCheck on_device(candidate_, target_, device_, constants_, reference);
  for (const Attempt* attempt : order) {
    ASSIGN_OR_RETURN(const std::string wrong, TryWrongOf(*attempt, reference, on_device));
    if (wrong.empty()) {
      Choose(*attempt);
      return absl::OkStatus();
    }
    Note(*attempt, wrong);
    failed_.push_back(trials_.Failed(attempt->variant, kWrong, wrong));
    choice_.compiled = Compiled::No(notes_[0]);
  }
  Refuse();
  return absl::OkStatus();
}

void VariantBenchmark::Refuse() {
  if (lacked_memory_ || left_out() > 0) return;
  failed_.push_back(trials_.Failed({}, kRefused, choice_.compiled.reason()));
}

absl::StatusOr<std::string> VariantBenchmark::TryWrongOf(const Attempt& attempt,
                                                         Reference& reference,
                                                         DeviceCheck& on_device) const {
  std::string wrong;
  RETURN_IF_ERROR(trials_.Try(attempt.variant, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(wrong, WrongOf(attempt, reference, on_device));
    return absl::OkStatus();
  }));
  return wrong;
}

absl::StatusOr<std::string> VariantBenchmark::WrongOf(const Attempt& attempt, Reference& reference,
                                                      DeviceCheck& on_device) const {
  std::vector<Tolerance> tolerances;
  for (const Value* v : BoundaryOf(candidate_.nodes).outputs) {
    tolerances.push_back(ToleranceOf(candidate_.nodes, v->dtype(), target_.numerics.tf32));
  }
  const absl::StatusOr<bool> agrees = on_device.Agrees(attempt.compiled.step(), tolerances);
  if (absl::IsFailedPrecondition(agrees.status())) return agrees.status();
  if (agrees.ok() && *agrees) return "";
  // If the device cannot decide, the host finds what differs, if anything.
  ASSIGN_OR_RETURN(const std::vector<HostTensor> inputs, reference.Inputs());
  ASSIGN_OR_RETURN(const std::vector<HostTensor> expected, reference.Outputs());
  ASSIGN_OR_RETURN(const auto runner,
                   StepRunner::Create(candidate_, attempt.compiled.step(), device_, constants_));
  const absl::StatusOr<StepResult> run = runner->Run(inputs, StepRunner::Padding::kZero);
  if (absl::IsFailedPrecondition(run.status())) return run.status();
  if (!run.ok()) return std::string(run.status().message());
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string what = Differs(run->outputs[i], expected[i], tolerances[i]);
    if (!what.empty()) return absl::StrCat("output ", i, " ", what);
  }
  if (!run->padding_is_zero) return "padding lanes are not zero";
  return run->foreign_is_kept ? "" : "lanes of others were written";
}

void VariantBenchmark::Note(const Attempt& attempt, std::string_view what) {
  notes_.push_back(absl::StrCat(candidate_.engine->name(), " ", Where(*candidate_.nodes[0]), " ",
                                attempt.variant.text, ": ", what));
}

void VariantBenchmark::Choose(const Attempt& attempt) {
  choice_ = {.variant = attempt.variant, .compiled = attempt.compiled, .us = attempt.us};
}

}  // namespace onnx_cudnn
