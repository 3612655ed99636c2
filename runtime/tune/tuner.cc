#include "runtime/tune/tuner.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/exec/constant_store.h"
#include "runtime/tune/compile_jobs.h"
#include "runtime/tune/variant_benchmark.h"

namespace onnx_cudnn {
namespace {

// Most signatures compiled at once; by other processes, which compile while some are timed; and
// those of the first batch where this process compiles, whose time tells how many the budget
// suffices for. Here nothing is timed before all are compiled: it would take longer beside that.
constexpr size_t kBatch = 32, kBatchOfProcesses = 64, kFirstBatch = 8;
// Signatures that are timed and then checked together.
constexpr size_t kTimedAtOnce = 8;
// Of the rest of the budget; what is compiled must be timed and checked.
constexpr double kCompileShare = 0.9;
// Checking this many bytes of operands keeps all threads busy.
constexpr int64_t kLargeBytes = int64_t{8} << 20;

std::string NameOf(const Candidate& candidate) {
  return absl::StrCat(candidate.engine->name(), ": ", Where(*candidate.nodes[0]));
}

}  // namespace

struct Tuner::Task {
  const Candidate* candidate;
  size_t index;  // among the requested Candidates
  std::unique_ptr<const Trials> trials = nullptr;
  Choice choice = {};
  bool was_built = false;   // by this Tuner
  bool is_refused = false;  // according to the cache
  bool is_measured = false;

  bool has_step() const { return choice.compiled.step() != nullptr; }
  bool is_done() const { return has_step() || is_refused; }
};

// Calls body(i) for every i below n, in parallel unless the options require one at a time; returns
// the error of the smallest i. Some calls take a thousand times as long as others, so each idle
// thread takes the next i.
absl::Status Tuner::ForAll(size_t n, absl::FunctionRef<absl::Status(size_t)> body) const {
  std::vector<absl::Status> statuses(n);
  std::atomic<size_t> next = 0;
  const auto run = [&](int64_t, int64_t) {
    const absl::Status current = device_.MakeCurrent();
    for (size_t i; (i = next++) < n;) {
      const absl::Status cancelled = CheckCancelled();  // only the caller's thread knows
      if (!cancelled.ok()) next = n;
      statuses[i] = !cancelled.ok() ? cancelled : current.ok() ? body(i) : current;
    }
  };
  const int threads = options_.one_at_a_time ? 1 : ThreadPool::Default().threads();
  ThreadPool::Default().ParallelFor(threads, 1, run);
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

std::optional<double> Tuner::MeasuredUs(const std::string& signature) const {
  return cache_.FindUs(target_.info.name, signature);
}

bool Tuner::Knows(absl::Span<const Candidate* const> candidates) const {
  return std::all_of(candidates.begin(), candidates.end(), [&](const Candidate* candidate) {
    if (!candidate->engine->launches()) return true;
    const std::string signature = Signature(*candidate, target_);
    const std::optional<PlanEntry> entry = cache_.Find(target_.info.name, signature);
    if (entry.has_value()) return !entry->is_partial;
    const Trials trials(*candidate, target_, signature, cache_.Failed(target_.info.name, signature),
                        options_.observer);
    return !trials.Refusal().empty();
  });
}

void Tuner::AddBudget(double seconds) {
  absl::MutexLock lock(mutex_);
  budget_s_ += seconds;
}

TunerStats Tuner::stats() const {
  absl::MutexLock lock(mutex_);
  return stats_;
}

bool Tuner::HasBudget() const {
  absl::MutexLock lock(mutex_);
  return stats_.seconds < budget_s_ && !is_over_;
}

// HasBudget, which ends here where the time is over: while a call measures, so that it leaves out
// what it has not compiled. Something is always measured.
bool Tuner::MayGoOn() {
  {
    absl::MutexLock lock(mutex_);
    is_over_ = is_over_ || (stats_.signatures > 0 && absl::Now() >= options_.until);
  }
  return HasBudget();
}

double Tuner::LeftS() const {
  absl::MutexLock lock(mutex_);
  return std::min(budget_s_ - stats_.seconds, absl::ToDoubleSeconds(options_.until - absl::Now()));
}

bool Tuner::RanOut() const {
  absl::MutexLock lock(mutex_);
  return budget_s_ > 0 && (stats_.seconds >= budget_s_ || is_over_);
}

// The number of signatures for which the rest of the budget is expected to suffice, at least as
// many as are timed at once: threads compile them side by side, and Compile leaves out what it is
// too late for.
size_t Tuner::NextBatch() const {
  if (options_.one_at_a_time) return 1;
  const double left_s = LeftS();
  absl::MutexLock lock(mutex_);
  if (stats_.signatures == 0) return options_.compilers ? kBatchOfProcesses : kFirstBatch;
  const double affordable = stats_.signatures * left_s / stats_.seconds;
  const auto most = static_cast<double>(options_.compilers ? kBatchOfProcesses : kBatch);
  return static_cast<size_t>(std::clamp(affordable, double{kTimedAtOnce}, most));
}

absl::StatusOr<std::vector<Choice>> Tuner::Choose(absl::Span<const Candidate* const> candidates) {
  absl::MutexLock lock(measuring_);
  std::vector<Task> tasks;
  for (const Candidate* c : candidates) tasks.push_back({.candidate = c, .index = tasks.size()});
  RETURN_IF_ERROR(ForAll(tasks.size(), [&](size_t i) {
    TakeKnown(tasks[i]);
    return absl::OkStatus();
  }));
  const auto open = std::stable_partition(tasks.begin(), tasks.end(),
                                          [](const Task& task) { return task.is_done(); });
  absl::Span<Task> left(tasks.data() + (open - tasks.begin()), tasks.end() - open);
  {
    absl::MutexLock stats_lock(mutex_);
    stats_.hits += static_cast<int>(
        std::count_if(tasks.begin(), open, [](const Task& task) { return !task.was_built; }));
  }
  const bool measures = !left.empty() && HasBudget();
  while (!left.empty() && MayGoOn()) {
    RETURN_IF_ERROR(Measure(left.first(std::min(left.size(), NextBatch()))));
    const auto unmeasured = std::stable_partition(
        left.begin(), left.end(), [](const Task& task) { return task.is_measured; });
    left.remove_prefix(unmeasured - left.begin());
    RETURN_IF_ERROR(cache_.Save());
    const int64_t all = stats().signatures;
    const int64_t total = HasBudget() ? all + static_cast<int64_t>(left.size()) : all;
    if (options_.observer.progress) options_.observer.progress(all, total);
    const std::string_view next = left.empty() ? "" : left[0].candidate->nodes[0]->op();
    RETURN_IF_ERROR(ReportProgress(ProgressStage::kTuning, all, total, next));
  }
  // The search repeats until nothing more is measured; the call that measures nothing ends
  // measuring.
  if (!measures) pool_.FreeKept(Space::kHost);
  const bool ended = measures && !HasBudget();
  RETURN_IF_ERROR(ForAll(ended ? 0 : left.size(), [&](size_t i) -> absl::Status {
    ASSIGN_OR_RETURN(left[i].choice, FirstOf(*left[i].trials));
    return absl::OkStatus();
  }));
  for (Task& task : left) {
    task.choice.is_left_out = ended && !task.has_step();
    // The time of a view is known to be zero.
    if (task.has_step() && !task.choice.compiled.step()->launches()) task.choice.us = 0;
  }
  std::vector<Choice> choices(tasks.size());
  for (Task& task : tasks) {
    if (task.has_step()) built_.Put(task.trials->signature(), task.choice);
    choices[task.index] = std::move(task.choice);
  }
  return choices;
}

// The cache may have saved it.
absl::StatusOr<Choice> Tuner::FirstOf(const Trials& trials) const {
  const std::optional<PlanEntry> entry = cache_.Find(target_.info.name, trials.signature());
  const bool may_load =
      entry.has_value() && entry->engine_version == trials.candidate().engine->version();
  const auto compile = [&](const Variant& v) {
    return may_load && entry->variant == v.text ? trials.Load(*entry) : trials.Compile(v);
  };
  absl::StatusOr<Choice> choice = FirstThatCompiles(trials.candidate(), target_, compile);
  if (!choice.ok()) return Annotate(choice.status(), NameOf(trials.candidate()));
  return choice;
}

absl::StatusOr<std::vector<Choice>> Tuner::First(absl::Span<const Candidate* const> candidates,
                                                 absl::Time until) const {
  std::vector<Choice> choices(candidates.size());
  RETURN_IF_ERROR(ForAll(candidates.size(), [&](size_t i) -> absl::Status {
    const std::string signature = Signature(*candidates[i], target_);
    if (std::optional<Choice> kept = first_.Find(signature); kept.has_value()) {
      choices[i] = *std::move(kept);
      return absl::OkStatus();
    }
    if (absl::Now() >= until) return absl::DeadlineExceededError("first variants: no time is left");
    const Trials trials(*candidates[i], target_, signature,
                        cache_.Failed(target_.info.name, signature), options_.observer);
    ASSIGN_OR_RETURN(choices[i], FirstOf(trials));
    return absl::OkStatus();
  }));
  return choices;
}

// A known Variant that no longer compiles is measured again.
void Tuner::TakeKnown(Task& task) {
  const std::string signature = Signature(*task.candidate, target_);
  task.trials =
      std::make_unique<Trials>(*task.candidate, target_, signature,
                               cache_.Failed(target_.info.name, signature), options_.observer);
  if (std::optional<Choice> built = built_.Find(signature); built.has_value()) {
    // There may now be a budget for what was not measured earlier.
    task.was_built = built->us.has_value() || !HasBudget();
    if (task.was_built) {
      task.choice = *std::move(built);
      return;
    }
  }
  const std::optional<PlanEntry> entry = cache_.Find(target_.info.name, signature);
  if (!entry.has_value()) {
    std::string refusal = task.trials->Refusal();
    task.is_refused = !refusal.empty();
    if (task.is_refused) task.choice.compiled = Compiled::No(std::move(refusal));
    return;
  }
  if (entry->engine_version != task.candidate->engine->version()) return;
  if (entry->is_partial && HasBudget()) return;
  absl::StatusOr<Compiled> compiled = task.trials->Load(*entry);
  if (!compiled.ok() || compiled->step() == nullptr) return;
  task.choice = {.variant = {entry->variant}, .compiled = *std::move(compiled), .us = entry->us};
}

// Works on all `jobs`. Those for which it is too late are left out.
absl::Status Tuner::Compile(absl::Span<const Task> tasks, CompileJobs& jobs,
                            Compilations& compilations,
                            std::vector<VariantBenchmark>& benchmarks) const {
  return ForAll(jobs.all(), [&](size_t) -> absl::Status {
    const CompileJobs::Job job = jobs.Next();
    const bool is_first = job.task == 0 && job.variant == 0;  // something is always measured
    const bool begins = compilations.Start(/*always=*/is_first);
    const absl::Time start = absl::Now();
    absl::Status status;
    if (begins) {
      const absl::Cleanup ends = [&] { compilations.End(); };
      status = benchmarks[job.task].Compile(job.variant);
    } else if (job.variant < benchmarks[job.task].variants()) {
      benchmarks[job.task].LeaveOut(job.variant);
    }
    jobs.End(job, begins, absl::Now() - start);
    return Annotate(status, NameOf(*tasks[job.task].candidate));
  });
}

// Measures those of `tasks` that are compiled in time: all unless the budget runs out.
absl::Status Tuner::Measure(absl::Span<Task> tasks) {
  ConstantStore constants(pool_);  // frees forms that only slower Variants need
  std::vector<VariantBenchmark> benchmarks;
  for (const Task& task : tasks) benchmarks.emplace_back(*task.trials, pool_, constants);
  absl::Time since = absl::Now();
  Compilations compilations(since + absl::Seconds(kCompileShare * LeftS()), options_.compilers);
  RETURN_IF_ERROR(ForAll(benchmarks.size(), [&](size_t i) {
    return Annotate(benchmarks[i].List(), NameOf(*tasks[i].candidate));
  }));
  std::vector<int> variants;
  for (const VariantBenchmark& benchmark : benchmarks) variants.push_back(benchmark.variants());
  CompileJobs jobs(variants);
  absl::Status compiled;
  const auto compile = [&, limit = ThreadPool::limit()] {
    const ThreadPool::Limit same(limit);
    const absl::Cleanup closes = [&] { jobs.Close(); };
    compiled = Compile(tasks, jobs, compilations, benchmarks);
  };
  absl::Status timed;
  if (options_.compilers && !options_.one_at_a_time) {
    std::future<void> beside = std::async(std::launch::async, compile);
    {
      const absl::Cleanup stops = [&] { compilations.Stop(); };
      timed = TimeReady(tasks, jobs, benchmarks, since);
    }
    beside.get();  // throws what compiling threw
  } else {
    compile();
    if (compiled.ok()) timed = TimeReady(tasks, jobs, benchmarks, since);
  }
  RETURN_IF_ERROR(timed);
  RETURN_IF_ERROR(compiled);
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].is_measured) continue;
    tasks[i].choice = benchmarks[i].untimed();
    KeepFirst(tasks[i], benchmarks[i]);
  }
  pool_.FreeKept(Space::kDevice);  // makes room for compiling the next batch
  return absl::OkStatus();
}

// Times and checks the tasks that are ready, until there are no more or the budget ends.
//   since  what follows it counts as spent
absl::Status Tuner::TimeReady(absl::Span<Task> tasks, CompileJobs& jobs,
                              std::vector<VariantBenchmark>& benchmarks, absl::Time& since) {
  const auto annotated = [&](size_t i, const absl::Status& status) {
    return Annotate(status, NameOf(*tasks[i].candidate));
  };
  do {
    ASSIGN_OR_RETURN(const std::vector<size_t> ready, jobs.TakeReady(kTimedAtOnce));
    if (ready.empty()) return absl::OkStatus();
    // A nested loop runs on one thread, so large checks run one after the other, each on all
    // threads.
    std::vector<size_t> small, large;
    std::vector<size_t> timed;
    for (const size_t i : ready) {
      if (!timed.empty() && !MayGoOn()) break;
      RETURN_IF_ERROR(annotated(i, benchmarks[i].Time()));
      timed.push_back(i);
      (benchmarks[i].operand_bytes() > kLargeBytes ? large : small).push_back(i);
    }
    for (const size_t i : large) RETURN_IF_ERROR(annotated(i, benchmarks[i].Decide()));
    RETURN_IF_ERROR(ForAll(small.size(), [&](size_t i) {
      return annotated(small[i], benchmarks[small[i]].Decide());
    }));
    for (const size_t i : timed) {
      tasks[i].choice = benchmarks[i].choice();
      tasks[i].is_measured = true;
      Note(tasks[i], benchmarks[i]);
      KeepFirst(tasks[i], benchmarks[i]);
    }
    const absl::Time now = absl::Now();
    absl::MutexLock lock(mutex_);
    stats_.seconds += absl::ToDoubleSeconds(now - std::exchange(since, now));
  } while (MayGoOn());
  return absl::OkStatus();
}

void Tuner::KeepFirst(const Task& task, const VariantBenchmark& benchmark) {
  Choice first = benchmark.untimed();
  const bool failed =
      std::any_of(benchmark.failed().begin(), benchmark.failed().end(),
                  [&](const FailedVariant& f) { return f.variant == first.variant.text; });
  if (first.compiled.step() == nullptr || failed) return;
  first_.Put(task.trials->signature(), std::move(first));
}

void Tuner::Note(const Task& task, const VariantBenchmark& benchmark) {
  {
    absl::MutexLock lock(mutex_);
    ++stats_.signatures;
    stats_.variants += benchmark.variants() - benchmark.left_out();
    stats_.notes.insert(stats_.notes.end(), benchmark.notes().begin(), benchmark.notes().end());
  }
  for (const FailedVariant& failed : benchmark.failed()) cache_.PutFailed(failed);
  if (!task.has_step() || !task.choice.compiled.step()->launches()) return;
  const Engine& engine = *task.candidate->engine;
  const PlatformVersions platform = device_.versions();
  cache_.Put({.device = target_.info.name,
              .signature = task.trials->signature(),
              .engine = std::string(engine.name()),
              .variant = task.choice.variant.text,
              .us = *task.choice.us,
              .workspace_bytes = task.choice.compiled.step()->workspace_bytes(),
              .checked = benchmark.checked(),
              .is_partial = benchmark.left_out() > 0,
              .engine_version = engine.version(),
              .driver = platform.driver,
              .cuda = platform.cuda,
              .date = Today(),
              .saved = task.choice.compiled.step()->Save()});
}

}  // namespace onnx_cudnn
