#include "tools/common/offered_load.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "onnx_cudnn/batcher.h"
#include "runtime/base/batch_rows.h"
#include "runtime/base/result_status.h"
#include "runtime/base/status.h"
#include "runtime/graph/host_tensor.h"
#include "tools/common/elements.h"
#include "tools/common/exit_codes.h"
#include "tools/common/inputs.h"
#include "tools/common/load_session.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostWaiting = 4096;  // requests
constexpr double kKeepsUp = 0.95;      // of the offered load
constexpr int kWarmUpRuns = 20;
constexpr int kDoublings = 16, kHalvings = 5, kConfirmations = 8;  // of the search
constexpr double kLess = 0.9;                                      // where it is not confirmed

// Runs requests alone, in the order of their arrival.
class Workers {
 public:
  using Work = std::function<absl::Status()>;
  explicit Workers(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Serve(); });
  }
  ~Workers() {
    {
      const absl::MutexLock lock(mutex_);
      is_stopped_ = true;
    }
    threads_.clear();  // joins
  }
  void Submit(Work work, RequestEnded ended) {
    {
      const absl::MutexLock lock(mutex_);
      if (waiting_.size() < kMostWaiting) {
        waiting_.emplace_back(std::move(work), std::move(ended));
        return;
      }
    }
    ended(absl::ResourceExhaustedError("too many requests wait"));
  }

 private:
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return is_stopped_ || !waiting_.empty();
  }
  void Serve() {
    while (true) {
      std::pair<Work, RequestEnded> next;
      {
        const absl::MutexLock lock(mutex_, absl::Condition(this, &Workers::HasWork));
        if (waiting_.empty()) return;
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
      next.second(next.first());
    }
  }

  absl::Mutex mutex_;
  std::deque<std::pair<Work, RequestEnded>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;
};

// A model that is loaded and has run, and how its requests are submitted.
struct Server {
  Session session;
  std::vector<ModelInput> made;
  std::vector<NamedView> inputs;
  BenchRecord record;
  double alone_ms = 0;  // of a run after the other
  std::optional<Batcher> batcher;
  std::unique_ptr<Workers> workers;

  void Submit(RequestEnded ended) {
    if (!batcher.has_value()) {
      return workers->Submit([this] { return RunOnce(); }, std::move(ended));
    }
    batcher->Submit(inputs, [ended = std::move(ended)](Result<std::vector<Tensor>> outputs) {
      ended(outputs.ok() ? absl::OkStatus() : ToStatus(outputs.error()));
    });
  }
  absl::Status RunOnce() const {
    const Result<std::vector<Tensor>> outputs = session.Run(inputs);
    return outputs.ok() ? absl::OkStatus() : ToStatus(outputs.error());
  }
};

// The rows of `tensor` over and over, as many as `rows`.
HostTensor WithRows(const HostTensor& tensor, int64_t rows) {
  Dims dims = tensor.dims();
  const int64_t given = std::exchange(dims[0], rows);
  if (tensor.dtype() == DType::kString) {
    const std::vector<std::string>& strings = tensor.strings();
    std::vector<std::string> repeated;
    const int64_t count = ElementsOf(dims);
    for (int64_t i = 0; i < count; ++i) repeated.push_back(strings[i % strings.size()]);
    return HostTensor::Strings(std::move(dims), std::move(repeated));
  }
  HostTensor repeated = HostTensor::Allocate(tensor.dtype(), std::move(dims));
  const int64_t row_bytes = tensor.bytes() / given;
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(static_cast<std::byte*>(repeated.mutable_raw()) + row * row_bytes,
                static_cast<const std::byte*>(tensor.raw()) + row % given * row_bytes, row_bytes);
  }
  return repeated;
}

absl::StatusOr<Session> Load(const LoadRequest& request) {
  SessionOptions options = request.bench.session;
  // A Program for each size of a batch, an arena for each thread.
  const auto sizes =
      static_cast<int>(BatchRows({}, std::max<int64_t>(request.max_batch, 1)).size());
  options.max_programs = std::max(options.max_programs, sizes);
  options.max_executors_per_program =
      std::max(options.max_executors_per_program, request.bench.threads);
  return LoadSession(request.bench.model, options);
}

absl::Status AddBatcher(Server& server, const LoadRequest& request, int threads) {
  BatcherOptions options;
  options.max_batch = request.max_batch;
  options.max_delay = std::chrono::microseconds(std::llround(1e3 * request.max_delay_ms));
  options.max_queued = std::max<int64_t>(options.max_queued, kMostWaiting * server.record.batch);
  options.threads = threads;
  Result<Batcher> batcher = Batcher::Create(server.session, options);
  if (!batcher.ok()) return ToStatus(batcher.error());
  server.batcher.emplace(std::move(batcher).value());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Server>> Open(const LoadRequest& request) {
  const BenchRequest& bench = request.bench;
  ASSIGN_OR_RETURN(Session session, Load(request));
  auto server = std::make_unique<Server>(Server{std::move(session)});
  ASSIGN_OR_RETURN(server->made, MakeInputs(server->session.inputs(),
                                            {.shapes = bench.shapes, .batch = bench.batch}));
  for (const ModelInput& input : server->made) {
    server->inputs.emplace_back(input.name, ViewOf(input.tensor));
  }
  const bool has_rows = !server->made.empty() && !server->made[0].tensor.dims().empty();
  const int64_t rows = has_rows ? server->made[0].tensor.dims()[0] : 1;
  const absl::Time start = absl::Now();
  RETURN_IF_ERROR(server->RunOnce());
  server->record = RecordOf(server->session, bench, rows);
  server->record.setup_s = absl::ToDoubleSeconds(absl::Now() - start);
  const auto devices = static_cast<int>(server->session.stats().devices.size());
  int runs_at_once = bench.threads;
  if (request.max_batch > 0) {
    if (bench.threads == 1) runs_at_once = 2 * devices;
    RETURN_IF_ERROR(AddBatcher(*server, request, runs_at_once));
  } else {
    server->workers = std::make_unique<Workers>(runs_at_once);
  }
  RETURN_IF_ERROR(WarmUpForLoad(server->session, server->made, request.max_batch, runs_at_once));
  const absl::Time warm = absl::Now();
  for (int i = 0; i < kWarmUpRuns; ++i) RETURN_IF_ERROR(server->RunOnce());
  server->alone_ms = absl::ToDoubleMilliseconds(absl::Now() - warm) / kWarmUpRuns;
  return server;
}

//   seed  of the arrivals
absl::StatusOr<LoadRecord> MeasureLoad(Server& server, const LoadRequest& request, double qps,
                                       uint64_t seed) {
  const double seconds = request.bench.seconds;
  const std::vector<double> arrivals = PoissonArrivals(qps, seconds, seed);
  const BatcherStats before = server.batcher.has_value() ? server.batcher->stats() : BatcherStats();
  ServedLoad served =
      OfferLoad(arrivals, [&](RequestEnded ended) { server.Submit(std::move(ended)); });
  LoadRecord record{.bench = server.record, .offered_qps = qps};
  record.requests = static_cast<int64_t>(arrivals.size());
  record.arrived_qps = static_cast<double>(arrivals.size()) / seconds;
  record.refused = served.refused;
  record.failed = served.failed;
  record.max_batch = request.max_batch;
  record.max_delay_ms = request.max_batch > 0 ? request.max_delay_ms : 0;
  record.mean_batch = static_cast<double>(server.record.batch);
  if (server.batcher.has_value()) {
    const BatcherStats after = server.batcher->stats();
    const int64_t batches = after.batches - before.batches;
    if (batches > 0) {
      record.mean_batch =
          static_cast<double>(after.rows - before.rows) / static_cast<double>(batches);
    }
  }
  if (served.latencies_ms.empty()) return record;
  record.achieved_qps =
      static_cast<double>(served.latencies_ms.size()) / std::max(served.seconds, seconds);
  record.max_ms = *std::max_element(served.latencies_ms.begin(), served.latencies_ms.end());
  const Timing timing = SummarizeTimes(std::move(served.latencies_ms));
  record.mean_ms = timing.mean;
  record.p50_ms = timing.median;
  record.p90_ms = timing.p90;
  record.p95_ms = timing.p95;
  record.p99_ms = timing.p99;
  return record;
}

// Doubles the load until it misses the bound, then halves the interval, and measures what it found
// anew, each time with other arrivals.
absl::StatusOr<std::vector<LoadRecord>> Search(Server& server, const LoadRequest& request) {
  std::vector<LoadRecord> records;
  const auto meets = [&](double qps) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(records.emplace_back(),
                     MeasureLoad(server, request, qps, request.seed + records.size()));
    return records.back().KeepsUp() && records.back().p99_ms <= request.p99_ms;
  };
  double within = 0, beyond = 0, next = 500 / server.alone_ms;  // half of what one caller takes
  for (int i = 0; i < kDoublings && beyond == 0; ++i) {
    ASSIGN_OR_RETURN(const bool is_within, meets(next));
    (is_within ? within : beyond) = next;
    next *= is_within ? 2 : 1;
  }
  for (int i = 0; i < kHalvings && beyond > 0; ++i) {
    ASSIGN_OR_RETURN(const bool is_within, meets((within + beyond) / 2));
    (is_within ? within : beyond) = (within + beyond) / 2;
  }
  for (int i = 0; i < kConfirmations && within > 0; ++i, within *= kLess) {
    ASSIGN_OR_RETURN(const bool is_within, meets(within));
    if (is_within) return records;
  }
  return absl::ResourceExhaustedError(
      absl::StrFormat("no load of %.3g requests per second or more keeps up within %g ms: a run "
                      "alone takes %.3g ms",
                      records.back().offered_qps, request.p99_ms, server.alone_ms));
}

}  // namespace

std::vector<double> PoissonArrivals(double per_s, double seconds, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(per_s);
  std::vector<double> arrivals;
  for (double at = gap(random); at < seconds; at += gap(random)) arrivals.push_back(at);
  return arrivals;
}

ServedLoad OfferLoad(absl::Span<const double> arrivals_s,
                     absl::FunctionRef<void(RequestEnded ended)> submit) {
  struct Shared {
    absl::Mutex mutex;
    ServedLoad served ABSL_GUARDED_BY(mutex);
    size_t ended ABSL_GUARDED_BY(mutex) = 0;
  };
  // A thread may still hold it when the last request has ended.
  const auto shared = std::make_shared<Shared>();
  const absl::Time start = absl::Now();
  for (const double arrival_s : arrivals_s) {
    const absl::Time arrival = start + absl::Seconds(arrival_s);
    if (const absl::Duration wait = arrival - absl::Now(); wait > absl::ZeroDuration()) {
      absl::SleepFor(wait);
    }
    submit([shared, arrival](const absl::Status& status) {
      const double ms = absl::ToDoubleMilliseconds(absl::Now() - arrival);
      const absl::MutexLock lock(shared->mutex);
      ++shared->ended;
      ServedLoad& served = shared->served;
      if (status.ok()) {
        served.latencies_ms.push_back(ms);
      } else if (absl::IsResourceExhausted(status)) {
        ++served.refused;
      } else {
        ++served.failed;
        served.first_error.Update(status);
      }
    });
  }
  const auto all_ended = [&]() ABSL_SHARED_LOCKS_REQUIRED(shared->mutex) {
    return shared->ended == arrivals_s.size();
  };
  const absl::MutexLock lock(shared->mutex, absl::Condition(&all_ended));
  shared->served.seconds = absl::ToDoubleSeconds(absl::Now() - start);
  return shared->served;
}

absl::Status WarmUpForLoad(const Session& session, const std::vector<ModelInput>& made,
                           int64_t max_batch, int runs_at_once) {
  const bool has_rows = !made.empty() && !made[0].tensor.dims().empty();
  const int64_t least = has_rows ? made[0].tensor.dims()[0] : 1;
  std::vector<int64_t> sizes = {least};
  if (max_batch > 0 && least > 0) {
    for (const int64_t rows : BatchRows({}, max_batch)) {
      if (rows > least) sizes.push_back(rows);
    }
  }
  std::cerr << "warming batches " << absl::StrJoin(sizes, ", ") << std::endl;
  for (const int64_t rows : sizes) {
    std::vector<HostTensor> tensors;
    std::vector<NamedView> inputs;
    for (const ModelInput& input : made) {
      tensors.push_back(rows == least ? input.tensor : WithRows(input.tensor, rows));
      inputs.emplace_back(input.name, ViewOf(tensors.back()));
    }
    RETURN_IF_ERROR(StatusOf(session.WarmUp(inputs, runs_at_once)));
  }
  return absl::OkStatus();
}

bool LoadRecord::KeepsUp() const {
  return refused == 0 && failed == 0 && achieved_qps >= kKeepsUp * arrived_qps;
}

absl::StatusOr<std::vector<LoadRecord>> MeasureLoads(const LoadRequest& request) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, Open(request));
  if (request.offered.empty()) return Search(*server, request);
  std::vector<LoadRecord> records;
  for (const double qps : request.offered) {
    ASSIGN_OR_RETURN(records.emplace_back(), MeasureLoad(*server, request, qps, request.seed));
  }
  return records;
}

}  // namespace onnx_cudnn
