// The requests of a Batcher that wait, and which of them form the next batch. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "onnx_cudnn/batcher.h"

namespace onnx_cudnn {

using BatcherTime = std::chrono::steady_clock::time_point;

struct BatcherRequest {
  std::vector<TensorView> inputs;  // in the model's order
  int64_t rows = 0;
  BatcherTime arrival;
  RequestOptions options;
  Batcher::Done done;
};

class RequestQueue {
 public:
  RequestQueue(int64_t max_batch, std::chrono::microseconds max_delay)
      : max_batch_(max_batch), max_delay_(max_delay) {}

  void Add(BatcherRequest request);
  // Those that were cancelled or whose deadline has passed.
  std::vector<BatcherRequest> TakeCancelled(BatcherTime now);
  // Requests of equal shapes, oldest first, of which one has waited for max_delay or that fill a
  // batch; at a `flush` any. Empty: none is due.
  std::vector<BatcherRequest> TakeBatch(BatcherTime now, bool flush);
  // When one of these may find something; BatcherTime::max(): nothing waits.
  BatcherTime NextEvent() const;
  int64_t rows() const { return rows_; }

 private:
  // Dims of the inputs without their first.
  using RowShapes = std::vector<std::vector<int64_t>>;
  struct Line {
    std::deque<BatcherRequest> requests;
    int64_t rows = 0;
  };
  BatcherTime DueAt(const Line& line) const;

  const int64_t max_batch_;
  const std::chrono::microseconds max_delay_;
  std::map<RowShapes, Line> lines_;  // none is empty
  int64_t rows_ = 0;
};

}  // namespace onnx_cudnn
