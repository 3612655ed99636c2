#include "runtime/base/forked.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

std::atomic<bool> is_forked = false;

void NoteFork() { is_forked = true; }

}  // namespace

bool IsForked() { return is_forked.load(std::memory_order_relaxed); }

absl::Status CheckNotForked() {
  static const int handler = pthread_atfork(nullptr, nullptr, NoteFork);
  if (handler != 0) return absl::ResourceExhaustedError("no memory left for pthread_atfork");
  if (!IsForked()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("process ", getpid(),
                   " was forked from one that had used onnx-cudnn, whose threads and GPU it does "
                   "not have: load models after the fork only, or start the process with exec "
                   "(Python: multiprocessing.set_start_method(\"spawn\"))"));
}

}  // namespace onnx_cudnn
