#include "python/src/gil.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace onnx_cudnn::python {
namespace {

// Threads that wait for the GIL or hold it within WithGil.
class Gate {
 public:
  bool Enter() {
    std::lock_guard lock(mutex_);
    if (closed_ && closer_ != std::this_thread::get_id()) return false;
    ++inside_;
    return true;
  }
  void Leave() {
    std::lock_guard lock(mutex_);
    --inside_;
    left_.notify_all();
  }
  void Close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    closer_ = std::this_thread::get_id();
    left_.wait(lock, [this] { return inside_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  bool closed_ = false;
  std::thread::id closer_;
  int inside_ = 0;
};

Gate& TheGate() {
  static Gate& gate = *new Gate;  // threads may outlive static destructors
  return gate;
}

[[noreturn]] void WaitForTheEnd() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

bool WithGil(const std::function<void()>& work) {
  if (!TheGate().Enter()) return false;
  {
    nanobind::gil_scoped_acquire acquired;
    work();
  }
  TheGate().Leave();
  return true;
}

Released::~Released() {
  if (!TheGate().Enter()) WaitForTheEnd();
  PyEval_RestoreThread(state_);
  TheGate().Leave();
}

void CloseGil() {
  PyThreadState* state = PyEval_SaveThread();
  TheGate().Close();
  PyEval_RestoreThread(state);
}

}  // namespace onnx_cudnn::python
