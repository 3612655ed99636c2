#include "runtime/session/session_tuning.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

SessionTuning::SessionTuning(const SessionOptions& options, const SessionDevice& device,
                             const ProgramBuilder& builder, SessionNotes& notes, absl::Time until)
    : device_(device),
      builder_(builder),
      notes_(notes),
      in_background_(options.tune == TuneMode::kBackground),
      measures_in_foreground_(options.tune_budget_s > 0 && !in_background_),
      is_quick_(options.first_program == FirstProgram::kQuick),
      until_(until) {}

absl::StatusOr<std::unique_ptr<SessionTuning>> SessionTuning::Create(const SessionOptions& options,
                                                                     const SessionDevice& device,
                                                                     const ProgramBuilder& builder,
                                                                     SessionNotes& notes,
                                                                     TuneSetup setup) {
  std::unique_ptr<SessionTuning> tuning(
      new SessionTuning(options, device, builder, notes, setup.until));
  const bool asked =
      options.tune_budget_s > 0 || !options.plan_cache.empty() || setup.plan_cache.valid();
  if (!asked || device.ref().kind != DeviceKind::kCuda) return tuning;
  ASSIGN_OR_RETURN(tuning->plan_cache_, setup.plan_cache.valid()
                                            ? setup.plan_cache.get()
                                            : PlanCache::Open(options.plan_cache));
  tuning->MakeWorker(options, setup.source);
  const auto make_tuner = [&](double budget_s, TuneObserver observer) {
    return std::make_unique<Tuner>(device.target(), device.device(), *tuning->plan_cache_,
                                   TunerOptions{.budget_s = budget_s,
                                                .until = setup.measures_until,
                                                .one_at_a_time = setup.one_at_a_time,
                                                .compilers = setup.compilers,
                                                .observer = std::move(observer)});
  };
  const double budget_s = tuning->measures_in_foreground_ ? options.tune_budget_s : 0;
  if (tuning->worker_ != nullptr) tuning->segment_tuner_ = make_tuner(budget_s, {});
  if (tuning->in_background()) return tuning;
  tuning->tuner_ = make_tuner(tuning->worker_ == nullptr ? budget_s : 0, std::move(setup.observer));
  return tuning;
}

void SessionTuning::MakeWorker(const SessionOptions& options, const ModelSource& source) {
  const bool has_source = !source.path.empty() || !source.bytes.empty();
  if (options.tune_budget_s == 0 || (!has_source && !in_background_)) return;
  absl::StatusOr<std::unique_ptr<WorkerTuning>> worker =
      has_source ? WorkerTuning::Create(source, options)
                 : absl::NotFoundError("no model for a worker program");
  if (worker.ok()) {
    worker_ = *std::move(worker);
    return;
  }
  notes_.AddTuneNote(absl::StrCat(
      worker.status().message(),
      in_background_ ? ": nothing is tuned in the background" : ": measured in this process"));
}

absl::StatusOr<std::shared_ptr<const Program>> SessionTuning::BuildInForeground(
    const ProgramTable::Key& key) const {
  Pricing pricing{.tuner = tuner_.get(), .plan_cache = plan_cache_.get(), .until = until_};
  if (worker_ != nullptr) {
    pricing.measure = [&](absl::Span<const Candidate* const> candidates) {
      worker_->Measure(key, candidates, *plan_cache_, *tuner_);
      return CheckCancelled();
    };
  } else {
    pricing.benchmarks_networks = measures_in_foreground_;
    pricing.until = EndOfBudget(tuner_.get());
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, builder_.Build(key, pricing));
  if (plan_cache_ != nullptr) RETURN_IF_ERROR(plan_cache_->Save());
  return program;
}

// Uses a Tuner for this Program only: callers of one Tuner wait for each other, and a Tuner keeps
// returning what it compiled before a better choice was known.
absl::StatusOr<std::shared_ptr<const Program>> SessionTuning::BuildAtOnce(
    const ProgramTable::Key& key, bool& wants_better) const {
  wants_better = is_quick_;
  Pricing pricing{.plan_cache = plan_cache_.get(), .is_quick = is_quick_};
  if (plan_cache_ == nullptr) return builder_.Build(key, pricing);
  Tuner tuner(device_.target(), device_.device(), *plan_cache_, {});
  pricing.tuner = &tuner;
  if (in_background()) {
    pricing.measure = [&](absl::Span<const Candidate* const>) {
      wants_better = true;
      return absl::OkStatus();
    };
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, builder_.Build(key, pricing));
  notes_.AddCachedSignatures(tuner.stats().hits);
  return program;
}

absl::StatusOr<std::shared_ptr<const Program>> SessionTuning::BuildBest(
    const ProgramTable::Key& key, const std::atomic<bool>& stop) const {
  if (!in_background()) return BuildInForeground(key);  // which measures nothing with kQuick
  Tuner tuner(device_.target(), device_.device(), *plan_cache_, {});
  const Pricing pricing{
      .tuner = &tuner,
      .plan_cache = plan_cache_.get(),
      .measure = [&](absl::Span<const Candidate* const> candidates) -> absl::Status {
        worker_->Measure(key, candidates, *plan_cache_, tuner);
        return stop ? absl::CancelledError("the Session is closed") : CheckCancelled();
      }};
  absl::StatusOr<std::shared_ptr<const Program>> program = builder_.Build(key, pricing);
  // Saves measurements, whatever the result for the Program.
  if (const absl::Status saved = plan_cache_->Save(); !saved.ok()) {
    notes_.AddTuneNote(absl::StrCat("background tuning: ", saved.message()));
  }
  return program;
}

absl::StatusOr<std::shared_ptr<const Program>> SessionTuning::BuildSegment(
    const ProgramBuilder& builder, const ProgramTable::Key& key, double bind_ms) const {
  Tuner* const tuner = segment_tuner_ == nullptr ? tuner_.get() : segment_tuner_.get();
  const Pricing pricing{.tuner = tuner,
                        .plan_cache = plan_cache_.get(),
                        .benchmarks_networks = measures_in_foreground_,
                        .until = EndOfBudget(tuner)};
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, builder.Build(key, pricing, bind_ms));
  if (plan_cache_ != nullptr) RETURN_IF_ERROR(plan_cache_->Save());
  return program;
}

absl::Time SessionTuning::EndOfBudget(const Tuner* tuner) const {
  const bool is_worker = until_ != absl::InfiniteFuture();
  if (tuner == nullptr || is_worker) return until_;
  return absl::Now() + absl::Seconds(tuner->LeftS());
}

TunerStats SessionTuning::tuner_stats() const {
  return tuner_ == nullptr ? TunerStats() : tuner_->stats();
}

void SessionTuning::AddTo(SessionStats& stats) const {
  const TunerStats tuned = tuner_stats();
  const TunerStats segments = segment_tuner_ == nullptr ? TunerStats() : segment_tuner_->stats();
  const WorkerReport worker = worker_ == nullptr ? WorkerReport() : worker_->report();
  stats.tune_ms = 1e3 * (tuned.seconds + segments.seconds + worker.seconds);
  stats.tuned_signatures = tuned.signatures + segments.signatures + worker.signatures;
  // The Tuner finds a worker's measurements in the plan cache and counts them as cached.
  stats.cached_signatures += std::max<int64_t>(tuned.hits - worker.signatures, 0) + segments.hits;
  for (const auto* notes : {&worker.notes, &tuned.notes, &segments.notes}) {
    stats.tune_notes.insert(stats.tune_notes.end(), notes->begin(), notes->end());
  }
}

}  // namespace onnx_cudnn
