#include "runtime/cudnn/cuda/cudnn_calls.h"

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "runtime/base/start_times.h"
#include "runtime/base/status.h"
#include "runtime/cuda/find_library.h"

namespace onnx_cudnn {
namespace {

constexpr int kCategory = 1000;  // status codes of one kind have the same thousands digit

std::atomic<const CudnnCalls*> current{nullptr};

std::string VersionText(size_t version) {
  return absl::StrFormat("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

absl::StatusOr<CudnnCalls> FindCalls(const FoundLibrary& library) {
  CudnnCalls calls;
#define CUDNN_CALL(name) RETURN_IF_ERROR(FindFunction(library, #name, calls.name));
#include "runtime/cudnn/cuda/cudnn_calls.inc"
#undef CUDNN_CALL
  return calls;
}

absl::Status Load() {
  const StartScope scope("open cuDNN");
  ASSIGN_OR_RETURN(const FoundLibrary library, OpenLibrary(CudnnLibrary()));
  static CudnnCalls calls;
  ASSIGN_OR_RETURN(calls, FindCalls(library));
  const size_t version = calls.cudnnGetVersion();
  const size_t least = CudnnLibrary().least_version;
  if (version < least) {
    return absl::FailedPreconditionError(absl::StrCat(
        "found cuDNN ", VersionText(version), " in ", library.path, ", needs ", VersionText(least),
        " or a newer 9: install it (", CudnnLibrary().install, ")"));
  }
  // Engines that generate code open it by its name; without it cuDNN refuses them.
  OpenLibrary(NvrtcLibrary()).IgnoreError();
  const CudnnCalls* none = nullptr;  // a test's table stays
  current.compare_exchange_strong(none, &calls);
  return absl::OkStatus();
}

struct Seen {
  bool was_refused = false;
  absl::Status failure;
};
thread_local Seen seen;

}  // namespace

absl::Status LoadCudnn() {
  static const auto& status = *new absl::Status(Load());
  return status;
}

const CudnnCalls* Cudnn() { return current.load(std::memory_order_acquire); }

const CudnnCalls* Exchange(const CudnnCalls* calls) { return current.exchange(calls); }

bool IsRefusal(cudnnStatus_t status) {
  switch (status / kCategory * kCategory) {
    case CUDNN_STATUS_NOT_SUPPORTED:
      return true;
    case CUDNN_STATUS_BAD_PARAM:  // engines return it for unsupported shapes and layouts
      return true;
    default:  // the code that an engine generated for the graph does not compile
      return status == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;
  }
}

absl::Status CudnnStatus(cudnnStatus_t status, std::string_view call) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  const CudnnCalls* calls = Cudnn();
  if (calls == nullptr) return absl::FailedPreconditionError("cuDNN is not loaded");
  char last[1024] = "";
  calls->cudnnGetLastErrorString(last, sizeof(last));
  std::string text = absl::StrCat(call, ": ", calls->cudnnGetErrorString(status));
  if (last[0] != 0) absl::StrAppend(&text, ": ", last);
  switch (status) {
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return absl::ResourceExhaustedError(text);
    case CUDNN_STATUS_NOT_INITIALIZED:
    case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH:
    case CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED:
      return absl::FailedPreconditionError(text);
    default:
      return absl::InternalError(text);
  }
}

void FrontendCalls::Forget() { seen = {}; }

void FrontendCalls::Note(cudnnStatus_t status, std::string_view call) {
  if (IsRefusal(status)) {
    seen.was_refused = true;
  } else {
    seen.failure.Update(CudnnStatus(status, call));
  }
}

bool FrontendCalls::was_refused() { return seen.was_refused; }
absl::Status FrontendCalls::failure() { return seen.failure; }

}  // namespace onnx_cudnn
