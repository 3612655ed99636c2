#include "runtime/session/background_tuning.h"

#include <algorithm>
#include <utility>

#include "runtime/base/blocked_signals.h"

namespace onnx_cudnn {

BackgroundTuning::BackgroundTuning(Tune tune, std::function<void()> interrupt, int most_waiting)
    : tune_(std::move(tune)),
      interrupt_(std::move(interrupt)),
      most_waiting_(static_cast<size_t>(most_waiting)) {
  const ScopedBlockedSignals blocked;
  thread_ = std::thread([this] { Serve(); });
}

bool BackgroundTuning::Add(const Key& key) {
  absl::MutexLock lock(mutex_);
  if (std::find(waiting_.begin(), waiting_.end(), key) != waiting_.end()) return true;
  if (waiting_.size() >= most_waiting_) return false;
  waiting_.push_back(key);
  return true;
}

void BackgroundTuning::Stop() {
  if (!thread_.joinable()) return;
  {
    absl::MutexLock lock(mutex_);
    stop_ = true;
    waiting_.clear();
  }
  interrupt_();
  thread_.join();
}

void BackgroundTuning::Serve() {
  for (;;) {
    Key key;
    {
      absl::MutexLock lock(mutex_, absl::Condition(this, &BackgroundTuning::HasWork));
      if (stop_) return;
      key = std::move(waiting_.front());
      waiting_.pop_front();
    }
    tune_(key, stop_);
  }
}

}  // namespace onnx_cudnn
