#include "runtime/session/retuner.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/session/network_benchmark.h"
#include "runtime/session/search_strategies.h"

namespace onnx_cudnn {
namespace {

// A tuned Program must take less than this share of the serving Program's time: a smaller gain is
// noise.
constexpr double kWorthASwap = 0.99;
// A Run that takes longer frees the Program that was replaced during it. So does a Binding.
constexpr absl::Duration kLongRun = absl::Seconds(2);
constexpr char kNoBudget[] =
    "its time is spent, or no worker program serves: further input shapes are not tuned";

// Waits until no Run uses a pool that was replaced, so that this thread destroys it: that frees
// memory, which waits for the GPU.
void WaitForItsRuns(const std::shared_ptr<ExecutorPool>& pool, const std::atomic<bool>& stop) {
  const absl::Time end = absl::Now() + kLongRun;
  while (pool.use_count() > 1 && !stop && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(1));
  }
}

}  // namespace

Retuner::Retuner(const SessionOptions& options, RetunedPrograms programs,
                 const SessionDevice& device, const SessionTuning& tuning, const PoolMaker& pools,
                 SessionNotes& notes, const ProgressReporter& progress)
    : options_(options),
      programs_(std::move(programs)),
      device_(device),
      tuning_(tuning),
      pools_(pools),
      notes_(notes),
      progress_(progress),
      thread_([this](const ProgramTable::Key& key,
                     const std::atomic<bool>& stop) { TuneAndNote(key, stop); },
              [this] { tuning_.StopWorker(); }, options.max_programs) {}

std::string_view Retuner::Work() const {
  return tuning_.in_background() ? "background tuning" : "background build";
}

void Retuner::Add(const ProgramTable::Key& key) {
  if (!tuning_.finds_better()) {
    notes_.AddTuneNote(absl::StrCat(Work(), ": ", kNoBudget));
  } else if (!thread_.Add(key)) {
    notes_.AddTuneNote(absl::StrCat(Work(), ": ", options_.max_programs,
                                    " sets of input shapes wait for it, others are not tuned"));
  }
}

void Retuner::TuneAndNote(const ProgramTable::Key& key, const std::atomic<bool>& stop) const {
  const std::shared_ptr<ExecutorPool> serving = programs_.table.Find(key);
  if (serving == nullptr) return;
  absl::StatusOr<std::string> what;
  const ThreadPool::Limit limit(options_.threads);
  const ProgressScope scope(/*cancel=*/nullptr, &progress_);
  try {
    what = Tune(key, serving, stop);
  } catch (const std::exception& e) {  // an exception that left the thread would end the process
    what = absl::InternalError(absl::StrCat("unexpected exception: ", e.what()));
  }
  if (stop || (what.ok() && what->empty())) return;
  notes_.AddTuneNote(absl::StrCat(Work(), " of ", programs_.shapes(key), ": ",
                                  what.ok() ? *what : what.status().message()));
  if (programs_.table.Find(key) != serving) WaitForItsRuns(serving, stop);
}

absl::StatusOr<std::string> Retuner::Tune(const ProgramTable::Key& key,
                                          const std::shared_ptr<ExecutorPool>& serving,
                                          const std::atomic<bool>& stop) const {
  RETURN_IF_ERROR(device_.device().MakeCurrent());
  if (!tuning_.finds_better()) return absl::ResourceExhaustedError(kNoBudget);
  const std::string_view built = tuning_.in_background() ? "tuned" : "best";
  const Program& first = serving->program();
  ASSIGN_OR_RETURN(const std::shared_ptr<const Program> tuned, programs_.build_best(key, stop));
  if (SameCandidates(first, *tuned, device_.target()) && SameVariants(first, *tuned)) {
    return absl::StrCat("the ", built, " program is the one that serves");
  }
  RETURN_IF_ERROR(pools_.CheckFitsBeside(*serving, *tuned));
  ASSIGN_OR_RETURN(const std::vector<NetworkTime> timed,
                   TimeNetworks({{serving->shared_program(), tuned}}, device_.device(),
                                options_.cuda_graph, Beside::kRuns, &stop));
  const std::string times =
      absl::StrFormat("a run of the %s program takes %.1f us, of the one before %.1f us", built,
                      1e3 * timed[1].ms, 1e3 * timed[0].ms);
  if (timed[1].ms > kWorthASwap * timed[0].ms) return absl::StrCat(times, ": that one stays");
  ASSIGN_OR_RETURN(const std::shared_ptr<ExecutorPool> pool, pools_.MakeBeside(*serving, tuned));
  // Its Executors are created before the swap, so that no Run waits for memory or lacks it.
  RETURN_IF_ERROR(pool->MakeReady(*serving));
  if (stop || !programs_.table.Replace(key, serving, pool)) return "";
  notes_.SetServing(*tuned);
  notes_.AddSwap();
  return absl::StrCat(times, ": it serves from now on, results may differ in the last bits");
}

}  // namespace onnx_cudnn
