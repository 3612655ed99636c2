#include "runtime/batcher/request_queue.h"

#include <algorithm>
#include <utility>

namespace onnx_cudnn {
namespace {

bool IsCancelled(const BatcherRequest& request, BatcherTime now) {
  const std::atomic<bool>* flag = request.options.cancel;
  return request.options.deadline <= now || (flag != nullptr && *flag);
}

}  // namespace

void RequestQueue::Add(BatcherRequest request) {
  RowShapes shapes;
  for (const TensorView& input : request.inputs) {
    shapes.emplace_back(input.shape.begin() + 1, input.shape.end());
  }
  Line& line = lines_[std::move(shapes)];
  line.rows += request.rows;
  rows_ += request.rows;
  line.requests.push_back(std::move(request));
}

std::vector<BatcherRequest> RequestQueue::TakeCancelled(BatcherTime now) {
  std::vector<BatcherRequest> taken;
  for (auto at = lines_.begin(); at != lines_.end();) {
    Line& line = at->second;
    std::deque<BatcherRequest> kept;
    for (BatcherRequest& request : line.requests) {
      if (!IsCancelled(request, now)) {
        kept.push_back(std::move(request));
        continue;
      }
      line.rows -= request.rows;
      rows_ -= request.rows;
      taken.push_back(std::move(request));
    }
    line.requests = std::move(kept);
    at = line.requests.empty() ? lines_.erase(at) : std::next(at);
  }
  return taken;
}

BatcherTime RequestQueue::DueAt(const Line& line) const {
  const BatcherTime arrival = line.requests.front().arrival;
  return line.rows >= max_batch_ ? arrival : arrival + max_delay_;
}

std::vector<BatcherRequest> RequestQueue::TakeBatch(BatcherTime now, bool flush) {
  auto oldest = lines_.end();
  for (auto at = lines_.begin(); at != lines_.end(); ++at) {
    if (!flush && DueAt(at->second) > now) continue;
    const bool is_older = oldest == lines_.end() || at->second.requests.front().arrival <
                                                        oldest->second.requests.front().arrival;
    if (is_older) oldest = at;
  }
  if (oldest == lines_.end()) return {};
  Line& line = oldest->second;
  std::vector<BatcherRequest> batch;
  int64_t rows = 0;
  while (!line.requests.empty() && rows + line.requests.front().rows <= max_batch_) {
    rows += line.requests.front().rows;
    batch.push_back(std::move(line.requests.front()));
    line.requests.pop_front();
  }
  line.rows -= rows;
  rows_ -= rows;
  if (line.requests.empty()) lines_.erase(oldest);
  return batch;
}

BatcherTime RequestQueue::NextEvent() const {
  BatcherTime next = BatcherTime::max();
  for (const auto& [shapes, line] : lines_) {
    next = std::min(next, DueAt(line));
    for (const BatcherRequest& request : line.requests) {
      next = std::min(next, request.options.deadline);
    }
  }
  return next;
}

}  // namespace onnx_cudnn
