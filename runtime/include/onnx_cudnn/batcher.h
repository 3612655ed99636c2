// Joins requests that arrive at about the same time into one Run of a Session, without a server.
//
//   auto batcher = onnx_cudnn::Batcher::Create(session.value());
//   // Any number of threads; each gets the outputs of its own rows.
//   auto outputs = batcher.value().Run({onnx_cudnn::View(pixels.data(), {1, 3, 224, 224})});
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "onnx_cudnn/export.h"
#include "onnx_cudnn/result.h"
#include "onnx_cudnn/session.h"
#include "onnx_cudnn/tensor.h"

namespace onnx_cudnn {

// A row is an element of the first axis. Requests whose other dims differ are not joined.
struct BatcherOptions {
  // Rows of one Run at most, 1 to 2^20.
  int64_t max_batch = 32;
  // How long the oldest request of a batch that is not full waits for others, up to a day.
  std::chrono::microseconds max_delay{1000};
  // The rows that Runs have besides max_batch, ascending. A batch between two of them is filled
  // up with copies of its first row, so that few Programs are built (SessionOptions::max_programs
  // should be as many, for each shape of a row). Empty: the powers of two below max_batch, and
  // max_batch.
  std::vector<int64_t> batch_sizes;
  // Rows that may wait, ≥ max_batch. A request beyond is ResourceExhausted at once.
  int64_t max_queued = 1024;
  // Runs at once, each by a thread of the Batcher, up to 256. 0: two for each device of the
  // Session, of which one gathers rows while the other waits for its Run.
  int threads = 0;
};

struct RequestOptions {
  // A request that waits until then ends with Cancelled.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Another thread sets it to end a request that still waits with Cancelled, when a batch is next
  // formed. Must live until the request has ended. Null: never checked.
  const std::atomic<bool>* cancel = nullptr;
};

struct BatcherStats {
  int64_t requests = 0;      // accepted
  int64_t refused = 0;       // because too many rows waited
  int64_t cancelled = 0;     // while they waited, by a flag or their deadline
  int64_t failed = 0;        // with another error
  int64_t batches = 0;       // Runs
  int64_t rows = 0;          // in these, of requests
  int64_t padding_rows = 0;  // in these, copies
  int64_t queued_rows = 0;   // that wait now
};

// Any number of threads may call members concurrently. No member throws.
class ONNX_CUDNN_API Batcher {
 public:
  using Done = std::function<void(Result<std::vector<Tensor>> outputs)>;

  // The Session must outlive the Batcher and not be moved meanwhile. InvalidArgument: the options.
  // Unimplemented: an input or output that is no tensor, or whose first dim is not the symbol that
  // the first input's is.
  static Result<Batcher> Create(const Session& session, const BatcherOptions& options = {});

  Batcher(Batcher&&) noexcept;
  Batcher& operator=(Batcher&&) noexcept;
  ~Batcher();  // as Stop

  // The outputs for these rows, 1 to max_batch of them, in host memory, in the model's order. The
  // inputs are in host memory. Where a Run of several requests is InvalidArgument (an index out of
  // range), each of them runs alone, so that only the wrong one fails.
  //   errors  InvalidArgument: as for Session::Run; more rows than max_batch; inputs of different
  //           numbers of rows. ResourceExhausted: too many rows wait. Cancelled: the flag, the
  //           deadline. FailedPrecondition: the Batcher was stopped
  Result<std::vector<Tensor>> Run(const std::vector<NamedView>& inputs,
                                  const RequestOptions& options = {});
  // The same without waiting: `done` is called once, by a thread of the Batcher, or within this
  // call for a request that is refused. The inputs must stay as they are until then. `done` must
  // not throw, and delays a batch as long as it takes.
  void Submit(const std::vector<NamedView>& inputs, Done done, const RequestOptions& options = {});

  // Accepts no more requests, runs those that wait, and returns when all have ended; within `done`,
  // when none waits any more.
  void Stop();
  BatcherStats stats() const;

 private:
  struct ONNX_CUDNN_HIDDEN Impl;
  explicit Batcher(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // its threads own it, too
};

}  // namespace onnx_cudnn
