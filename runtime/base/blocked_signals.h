#pragma once

#include <csignal>

#include "runtime/base/not_copyable.h"

namespace onnx_cudnn {

// While it lives, threads that this thread starts block the signals of the process, so that its
// other threads handle them. Signals of faults and of profilers stay as they are.
class ScopedBlockedSignals : NotCopyable {
 public:
  ScopedBlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int kept : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF}) {
      sigdelset(&blocked, kept);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~ScopedBlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace onnx_cudnn
