#include "runtime/cuda/host_call.h"

#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/thread_pool.h"

namespace onnx_cudnn {

bool HostFailure::ok() const {
  absl::MutexLock lock(mutex_);
  return first_.ok();
}

void HostFailure::Set(absl::Status status) {
  absl::MutexLock lock(mutex_);
  if (first_.ok()) first_ = std::move(status);
}

absl::Status HostFailure::Take() {
  absl::MutexLock lock(mutex_);
  return std::exchange(first_, absl::OkStatus());
}

HostCall::HostCall(const Step& step, const LaunchArgs& args, std::shared_ptr<HostFailure> failure)
    : step_(step),
      in_(args.in.begin(), args.in.end()),
      out_(args.out.begin(), args.out.end()),
      constants_(args.constants.begin(), args.constants.end()),
      args_{.in = in_,
            .out = out_,
            .constants = constants_,
            .workspace = args.workspace,
            .stream = args.stream,
            .fault = args.fault},
      failure_(std::move(failure)),
      threads_(ThreadPool::limit()) {}

// No exception may propagate into CUDA, which calls this.
absl::Status HostCall::Launch() const {
  const ThreadPool::Limit limit(threads_);
  try {
    return step_.Launch(args_);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of host memory");
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("unexpected exception: ", e.what()));
  }
}

void HostCall::Run(void* call) {
  const HostCall& self = *static_cast<const HostCall*>(call);
  if (self.failure_->ok()) self.failure_->Set(self.Launch());
}

}  // namespace onnx_cudnn
