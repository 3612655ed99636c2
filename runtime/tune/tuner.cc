#include "runtime/tune/tuner.h"

#include <algorithm>
#include <future>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/exec/constant_store.h"
#include "runtime/tune/race.h"

namespace onnx_cudnn {
namespace {

// Operands of a check that gives all threads work.
constexpr int64_t kLargeBytes = int64_t{8} << 20;
// What was measured is safe from a crash after so long.
constexpr absl::Duration kSaveEvery = absl::Milliseconds(200);

std::string NameOf(const Candidate& candidate) {
  return absl::StrCat(candidate.engine->name(), ": ", Where(*candidate.nodes[0]));
}

}  // namespace

struct Tuner::Task {
  const Candidate* candidate;
  size_t index;  // in what was asked
  std::unique_ptr<const Trials> trials = nullptr;
  Choice choice = {};
  bool was_built = false;   // by this Tuner
  bool is_refused = false;  // as the cache says
  bool was_measured = false;

  bool has_step() const { return choice.compiled.step() != nullptr; }
  bool is_done() const { return has_step() || is_refused; }
};

// A Task on its way.
struct Tuner::Entrant {
  Entrant(Task& of, Device& device)
      : task(of), constants(device), race(*of.trials, device, constants) {}
  absl::Status Annotated(const absl::Status& status) const {
    return Annotate(status, NameOf(*task.candidate));
  }

  Task& task;
  ConstantStore constants;  // forms that lose are gone with it
  Race race;
  int left = 0;         // Variants to compile
  absl::Status status;  // the first error of these
};

// Hands out each Entrant once all its Variants are compiled.
class Tuner::Races {
 public:
  Races(absl::Span<Task> tasks, Device& device) {
    for (Task& task : tasks) entrants_.push_back(std::make_unique<Entrant>(task, device));
  }
  Entrant& entrant(size_t i) { return *entrants_[i]; }

  // Once the Variants of all are listed.
  void Begin();
  // Compiles until nothing is left; any number of threads at once.
  void Compile();
  void Stop();  // nothing more is begun
  // Waits for one at least to be compiled; none: all were taken.
  std::vector<std::unique_ptr<Entrant>> TakeCompiled();

 private:
  bool Next(std::pair<size_t, int>& attempt);
  bool HasCompiled() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !compiled_.empty() || taken_ == entrants_.size();
  }

  std::vector<std::unique_ptr<Entrant>> entrants_;  // nullptr: taken
  std::vector<std::pair<size_t, int>> attempts_;    // an Entrant and its Variant
  absl::Mutex mutex_;
  size_t next_attempt_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<size_t> compiled_ ABSL_GUARDED_BY(mutex_);
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

void Tuner::Races::Begin() {
  absl::MutexLock lock(mutex_);
  for (size_t i = 0; i < entrants_.size(); ++i) {
    entrants_[i]->left = entrants_[i]->race.variants();
    if (entrants_[i]->left == 0) compiled_.insert(i);
    for (int v = 0; v < entrants_[i]->left; ++v) attempts_.push_back({i, v});
  }
}

void Tuner::Races::Compile() {
  std::pair<size_t, int> attempt;
  while (Next(attempt)) {
    Entrant& entrant = *entrants_[attempt.first];
    const absl::Status compiled = entrant.race.Compile(attempt.second);
    absl::MutexLock lock(mutex_);
    entrant.status.Update(compiled);
    if (--entrant.left == 0) compiled_.insert(attempt.first);
  }
}

bool Tuner::Races::Next(std::pair<size_t, int>& attempt) {
  absl::MutexLock lock(mutex_);
  if (next_attempt_ == attempts_.size()) return false;
  attempt = attempts_[next_attempt_++];
  return true;
}

void Tuner::Races::Stop() {
  absl::MutexLock lock(mutex_);
  next_attempt_ = attempts_.size();
}

std::vector<std::unique_ptr<Tuner::Entrant>> Tuner::Races::TakeCompiled() {
  absl::MutexLock lock(mutex_);
  mutex_.Await(absl::Condition(this, &Races::HasCompiled));
  std::vector<std::unique_ptr<Entrant>> taken;
  for (const size_t i : compiled_) taken.push_back(std::move(entrants_[i]));
  taken_ += taken.size();
  compiled_.clear();
  return taken;
}

// body(i) for every i below n, in parallel unless one is to go at a time; the first error in order.
absl::Status Tuner::ForAll(size_t n, absl::FunctionRef<absl::Status(size_t)> body) const {
  std::vector<absl::Status> statuses(n);
  const auto all = static_cast<int64_t>(n);
  ThreadPool::Default().ParallelFor(all, options_.one_at_a_time ? std::max<int64_t>(all, 1) : 1,
                                    [&](int64_t begin, int64_t end) {
                                      for (int64_t i = begin; i < end; ++i) statuses[i] = body(i);
                                    });
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

std::optional<double> Tuner::MeasuredUs(const std::string& signature) const {
  return cache_.FindUs(target_.info.name, signature);
}

bool Tuner::Knows(absl::Span<const Candidate* const> candidates) const {
  return std::all_of(candidates.begin(), candidates.end(), [&](const Candidate* candidate) {
    if (candidate->engine->name() == "view") return true;  // it takes no time
    const std::string signature = Signature(*candidate, target_);
    if (cache_.FindUs(target_.info.name, signature).has_value()) return true;
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
  return stats_.seconds < budget_s_;
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
  const size_t at_once = options_.one_at_a_time ? 1 : left.size();
  for (size_t i = 0; i < left.size() && HasBudget(); i += at_once) {
    RETURN_IF_ERROR(MeasureAll(left.subspan(i, at_once)));
  }
  left.remove_prefix(std::stable_partition(left.begin(), left.end(),
                                           [](const Task& task) { return task.was_measured; }) -
                     left.begin());
  // A search asks again until it learns nothing more.
  if (!measures) pool_.FreeKept(Space::kHost);
  RETURN_IF_ERROR(ForAll(left.size(), [&](size_t i) -> absl::Status {
    absl::StatusOr<Choice> choice = FirstThatCompiles(
        *left[i].candidate, target_, [&](const Variant& v) { return left[i].trials->Compile(v); });
    if (!choice.ok()) return Annotate(choice.status(), NameOf(*left[i].candidate));
    left[i].choice = *std::move(choice);
    // A view's time is known.
    if (left[i].has_step() && !left[i].choice.compiled.step()->launches()) left[i].choice.us = 0;
    return absl::OkStatus();
  }));
  std::vector<Choice> choices(tasks.size());
  for (Task& task : tasks) {
    if (task.has_step()) built_.Put(task.trials->signature(), task.choice);
    choices[task.index] = std::move(task.choice);
  }
  return choices;
}

// What does not compile now is no hit.
void Tuner::TakeKnown(Task& task) {
  const std::string signature = Signature(*task.candidate, target_);
  task.trials =
      std::make_unique<Trials>(*task.candidate, target_, signature,
                               cache_.Failed(target_.info.name, signature), options_.observer);
  if (std::optional<Choice> built = built_.Find(signature); built.has_value()) {
    // What was not measured for want of budget may be now.
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
  absl::StatusOr<Compiled> compiled = task.trials->Load(*entry);
  if (!compiled.ok() || compiled->step() == nullptr) return;
  task.choice = {.variant = {entry->variant}, .compiled = *std::move(compiled), .us = entry->us};
}

// As long as there is budget. What is compiled is timed and checked while others are compiled.
absl::Status Tuner::MeasureAll(absl::Span<Task> tasks) {
  absl::Time since = absl::Now(), saved = since;
  Races races(tasks, pool_);
  RETURN_IF_ERROR(ForAll(tasks.size(), [&](size_t i) {
    return races.entrant(i).Annotated(races.entrant(i).race.List());
  }));
  races.Begin();
  std::future<void> compiling;
  if (options_.one_at_a_time) {
    races.Compile();
  } else {
    compiling = std::async(std::launch::async, [&races] {
      ThreadPool& threads = ThreadPool::Default();
      threads.ParallelFor(threads.threads(), 1, [&](int64_t, int64_t) { races.Compile(); });
    });
  }
  absl::Status status = absl::OkStatus();
  for (size_t done = 0; done < tasks.size() && status.ok() && HasBudget();) {
    const std::vector<std::unique_ptr<Entrant>> compiled = races.TakeCompiled();
    done += compiled.size();
    status = Measure(compiled);
    const absl::Time now = absl::Now();
    if (status.ok() && (now - saved > kSaveEvery || done == tasks.size())) {
      status = cache_.Save();
      saved = now;
    }
    {
      absl::MutexLock lock(mutex_);
      stats_.seconds += absl::ToDoubleSeconds(now - std::exchange(since, now));
    }
    if (!options_.observer.progress) continue;
    const int64_t measured = stats().signatures;
    const auto left = static_cast<int64_t>(tasks.size() - done);
    options_.observer.progress(measured, HasBudget() ? measured + left : measured);
  }
  races.Stop();
  if (compiling.valid()) compiling.wait();
  return status;
}

absl::Status Tuner::Measure(absl::Span<const std::unique_ptr<Entrant>> entrants) {
  for (const auto& entrant : entrants) {
    RETURN_IF_ERROR(entrant->Annotated(entrant->status));
    RETURN_IF_ERROR(entrant->Annotated(entrant->race.Time()));
  }
  // A loop inside a loop has one thread: large checks go one after the other, each on all threads.
  std::vector<Entrant*> small;
  for (const auto& entrant : entrants) {
    if (entrant->race.operand_bytes() > kLargeBytes) {
      RETURN_IF_ERROR(entrant->Annotated(entrant->race.Decide()));
    } else {
      small.push_back(entrant.get());
    }
  }
  RETURN_IF_ERROR(
      ForAll(small.size(), [&](size_t i) { return small[i]->Annotated(small[i]->race.Decide()); }));
  for (const auto& entrant : entrants) {
    entrant->task.choice = entrant->race.choice();
    entrant->task.was_measured = true;
    Note(entrant->task, entrant->race);
  }
  pool_.FreeKept(Space::kDevice);  // compiling takes memory beside it
  return absl::OkStatus();
}

void Tuner::Note(const Task& task, const Race& race) {
  {
    absl::MutexLock lock(mutex_);
    ++stats_.signatures;
    stats_.variants += race.variants();
    stats_.notes.insert(stats_.notes.end(), race.notes().begin(), race.notes().end());
  }
  for (const FailedVariant& failed : race.failed()) cache_.PutFailed(failed);
  if (!task.has_step() || !task.choice.compiled.step()->launches()) return;
  const Engine& engine = *task.candidate->engine;
  const PlatformVersions platform = device_.versions();
  cache_.Put({.device = target_.info.name,
              .signature = task.trials->signature(),
              .engine = std::string(engine.name()),
              .variant = task.choice.variant.text,
              .us = *task.choice.us,
              .workspace_bytes = task.choice.compiled.step()->workspace_bytes(),
              .checked = race.checked(),
              .engine_version = engine.version(),
              .driver = platform.driver,
              .cuda = platform.cuda,
              .date = Today(),
              .saved = task.choice.compiled.step()->Save()});
}

}  // namespace onnx_cudnn
