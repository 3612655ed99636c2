#include "onnx_cudnn/batcher.h"

#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/base/batch_rows.h"
#include "runtime/base/blocked_signals.h"
#include "runtime/base/forked.h"
#include "runtime/base/status.h"
#include "runtime/batcher/batch_runner.h"
#include "runtime/batcher/request_queue.h"
#include "runtime/session/arguments.h"
#include "runtime/session/edge.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 20, kMostThreads = 256;
constexpr int64_t kMostDelayUs = int64_t{24} * 3600 * 1000 * 1000;

absl::Status CheckRange(std::string_view option, int64_t found, int64_t least, int64_t most) {
  if (found >= least && found <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("batcher option ", option, " = ", found, ", expected ", least, " to ", most));
}

// The rows that Runs have, ascending.
absl::StatusOr<std::vector<int64_t>> SizesOf(const BatcherOptions& options) {
  RETURN_IF_ERROR(CheckRange("max_batch", options.max_batch, 1, kMostRows));
  RETURN_IF_ERROR(CheckRange("max_delay", options.max_delay.count(), 0, kMostDelayUs));
  RETURN_IF_ERROR(
      CheckRange("max_queued", options.max_queued, options.max_batch, kMostRows * kMostRows));
  RETURN_IF_ERROR(CheckRange("threads", options.threads, 0, kMostThreads));
  const std::vector<int64_t>& sizes = options.batch_sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t least = i == 0 ? 1 : sizes[i - 1] + 1;
    RETURN_IF_ERROR(CheckRange("batch_sizes", sizes[i], least, options.max_batch));
  }
  return BatchRows(sizes, options.max_batch);
}

// Unimplemented: the first dim of `info` is not `symbol`, or `info` is no tensor.
absl::Status CheckRows(std::string_view what, const ValueInfo& info, const std::string& symbol) {
  const bool has_rows = info.kind == ValueKind::kTensor && info.ranked && !info.dims.empty() &&
                        info.dims[0].value < 0 && !symbol.empty() && info.dims[0].symbol == symbol;
  if (has_rows) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(what, " ", ToString(info),
                   " has no batch axis: the first dim of every input and output must ",
                   "be one symbol, as of a model that is exported with a symbolic batch"));
}

absl::Status CheckBatchAxis(const Session& session) {
  if (session.inputs().empty()) return absl::UnimplementedError("the model has no inputs");
  const ValueInfo& first = session.inputs()[0];
  const std::string symbol = first.dims.empty() ? "" : first.dims[0].symbol;
  for (const ValueInfo& info : session.inputs()) RETURN_IF_ERROR(CheckRows("input", info, symbol));
  for (const ValueInfo& info : session.outputs()) {
    RETURN_IF_ERROR(CheckRows("output", info, symbol));
  }
  return absl::OkStatus();
}

}  // namespace

struct Batcher::Impl {
  static thread_local const Impl* working;  // whose thread this is

  Impl(const Session& session, const BatcherOptions& options, std::vector<int64_t> sizes)
      : session(session),
        options(options),
        sizes(std::move(sizes)),
        queue(options.max_batch, options.max_delay) {}

  // Each thread owns it.
  static void Start(const std::shared_ptr<Impl>& impl);
  // Stop, of a Batcher that is destroyed: within `done`, its thread ends by itself afterwards.
  void StopForGood();

  absl::StatusOr<BatcherRequest> Checked(const std::vector<NamedView>& inputs,
                                         const RequestOptions& request_options) const;
  // Accepts the request, or leaves it as it was and says why not.
  std::optional<Error> Accept(BatcherRequest& request);
  // Cancelled requests and those of one batch. Both empty: the Batcher was stopped and all have
  // ended.
  struct Due {
    BatcherTime now;
    std::vector<BatcherRequest> cancelled, batch;
  };
  Due WaitForDue();
  void Work();  // of each thread
  void Stop();

  const Session& session;
  const BatcherOptions options;
  const std::vector<int64_t> sizes;

  mutable absl::Mutex mutex;
  absl::CondVar changed;
  RequestQueue queue ABSL_GUARDED_BY(mutex);
  BatcherStats stats ABSL_GUARDED_BY(mutex);
  bool is_stopped ABSL_GUARDED_BY(mutex) = false;

  absl::Mutex joining;
  std::vector<std::thread> threads ABSL_GUARDED_BY(joining);
};

thread_local const Batcher::Impl* Batcher::Impl::working = nullptr;

absl::StatusOr<BatcherRequest> Batcher::Impl::Checked(const std::vector<NamedView>& inputs,
                                                      const RequestOptions& request_options) const {
  ASSIGN_OR_RETURN(const auto views,
                   MatchArguments(inputs, session.inputs(), "input", DeviceRef()));
  BatcherRequest request{.rows = views[0]->shape[0], .options = request_options};
  for (size_t i = 0; i < views.size(); ++i) {
    const TensorView& view = *views[i];
    RETURN_IF_ERROR(CheckPointer(view, "input", i));
    const std::string& name = session.inputs()[i].name;
    if (view.shape[0] != request.rows) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", name, "\" has ", view.shape[0],
                                                     " rows, the first input ", request.rows));
    }
    int64_t bits = BitsOf(view.dtype);
    for (size_t axis = 1; axis < view.shape.size(); ++axis) bits *= view.shape[axis];
    if (bits % 8 != 0) {
      return absl::UnimplementedError(absl::StrCat("input \"", name, "\": rows of ", bits,
                                                   " bits cannot be joined, expected whole bytes"));
    }
    request.inputs.push_back(view);
  }
  if (request.rows < 1 || request.rows > options.max_batch) {
    return absl::InvalidArgumentError(
        absl::StrCat("a request of ", request.rows, " rows, expected 1 to ", options.max_batch));
  }
  return request;
}

std::optional<Error> Batcher::Impl::Accept(BatcherRequest& request) {
  const absl::MutexLock lock(mutex);
  if (is_stopped) return Error{ErrorCode::kFailedPrecondition, "the batcher was stopped"};
  if (queue.rows() + request.rows > options.max_queued) {
    ++stats.refused;
    return Error{ErrorCode::kResourceExhausted,
                 absl::StrCat(queue.rows(), " rows wait in the batcher, a request of ",
                              request.rows, " more is beyond max_queued = ", options.max_queued)};
  }
  ++stats.requests;
  request.arrival = std::chrono::steady_clock::now();
  queue.Add(std::move(request));
  changed.Signal();
  return std::nullopt;
}

Batcher::Impl::Due Batcher::Impl::WaitForDue() {
  const absl::MutexLock lock(mutex);
  while (true) {
    Due due = {.now = std::chrono::steady_clock::now()};
    due.cancelled = queue.TakeCancelled(due.now);
    due.batch = queue.TakeBatch(due.now, is_stopped);
    stats.cancelled += static_cast<int64_t>(due.cancelled.size());
    if (!due.cancelled.empty() || !due.batch.empty()) {
      if (queue.rows() > 0) changed.Signal();  // another thread looks at what is left
      return due;
    }
    if (is_stopped) return due;
    const BatcherTime next = queue.NextEvent();
    if (next == BatcherTime::max()) {
      changed.Wait(&mutex);
    } else {
      changed.WaitWithTimeout(&mutex, absl::FromChrono(next - due.now));
    }
  }
}

void Batcher::Impl::Work() {
  BatchRunner runner(session, sizes);
  while (true) {
    const Due due = WaitForDue();
    if (due.cancelled.empty() && due.batch.empty()) return;
    for (const BatcherRequest& request : due.cancelled) {
      const bool is_late = request.options.deadline <= due.now;
      request.done(Error{ErrorCode::kCancelled, is_late ? "the deadline passed in the batcher"
                                                        : "cancelled in the batcher"});
    }
    if (due.batch.empty()) continue;
    BatchCounts counts;
    std::vector<Result<std::vector<Tensor>>> ended = runner.Run(due.batch, counts);
    {
      const absl::MutexLock lock(mutex);
      stats.batches += counts.batches;
      stats.rows += counts.rows;
      stats.padding_rows += counts.padding_rows;
      stats.failed += counts.failed;
    }
    for (size_t i = 0; i < due.batch.size(); ++i) due.batch[i].done(std::move(ended[i]));
  }
}

void Batcher::Impl::Start(const std::shared_ptr<Impl>& impl) {
  const ScopedBlockedSignals blocked;
  const absl::MutexLock lock(impl->joining);
  const int devices = static_cast<int>(impl->session.stats().devices.size());
  const int count = impl->options.threads > 0 ? impl->options.threads : 2 * devices;
  for (int i = 0; i < count; ++i) {
    impl->threads.emplace_back([impl] {
      working = impl.get();
      impl->Work();
    });
  }
}

void Batcher::Impl::Stop() {
  {
    const absl::MutexLock lock(mutex);
    is_stopped = true;
    changed.SignalAll();
  }
  if (working == this) return Work();  // it cannot wait for itself
  const absl::MutexLock lock(joining);
  for (std::thread& thread : threads) thread.join();
  threads.clear();
}

void Batcher::Impl::StopForGood() {
  Stop();
  const absl::MutexLock lock(joining);
  for (std::thread& thread : threads) {  // the others may still use the Session
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
  threads.clear();
}

Result<Batcher> Batcher::Create(const Session& session, const BatcherOptions& options) {
  return AtEdge<Batcher>([&]() -> absl::StatusOr<Batcher> {
    ASSIGN_OR_RETURN(std::vector<int64_t> sizes, SizesOf(options));
    RETURN_IF_ERROR(CheckBatchAxis(session));
    Batcher batcher(std::make_shared<Impl>(session, options, std::move(sizes)));
    Impl::Start(batcher.impl_);
    return batcher;
  });
}

Batcher::Batcher(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Batcher::Batcher(Batcher&&) noexcept = default;
Batcher& Batcher::operator=(Batcher&& other) noexcept {
  // After the swap it holds the old Batcher, which is destroyed here.
  Batcher last(std::move(other));
  std::swap(impl_, last.impl_);
  return *this;
}
Batcher::~Batcher() {
  AbandonIfForked(impl_);
  if (impl_ != nullptr) impl_->StopForGood();
}

void Batcher::Submit(const std::vector<NamedView>& inputs, Done done,
                     const RequestOptions& options) {
  Result<BatcherRequest> request = AtEdge<BatcherRequest>([&]() -> absl::StatusOr<BatcherRequest> {
    RETURN_IF_ERROR(CheckNotMovedFrom(impl_, "Batcher"));
    return impl_->Checked(inputs, options);
  });
  if (!request.ok()) return done(request.error());
  request.value().done = std::move(done);
  if (const std::optional<Error> refused = impl_->Accept(request.value())) {
    request.value().done(*refused);
  }
}

Result<std::vector<Tensor>> Batcher::Run(const std::vector<NamedView>& inputs,
                                         const RequestOptions& options) {
  // The thread that sets it may still be doing so when the waiting one goes on.
  auto promise = std::make_shared<std::promise<Result<std::vector<Tensor>>>>();
  std::future<Result<std::vector<Tensor>>> ended = promise->get_future();
  const auto done = [promise = std::move(promise)](Result<std::vector<Tensor>> outputs) {
    promise->set_value(std::move(outputs));
  };
  Submit(inputs, done, options);
  return ended.get();
}

void Batcher::Stop() {
  if (impl_ != nullptr && !IsForked()) impl_->Stop();
}

BatcherStats Batcher::stats() const {
  if (impl_ == nullptr || IsForked()) return {};
  const absl::MutexLock lock(impl_->mutex);
  BatcherStats stats = impl_->stats;
  stats.queued_rows = impl_->queue.rows();
  return stats;
}

}  // namespace onnx_cudnn
