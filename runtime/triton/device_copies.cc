#include "runtime/triton/device_copies.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn::triton {
namespace {

constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr int kOutOfMemory = 2;       // CUDA_ERROR_OUT_OF_MEMORY

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

absl::StatusOr<CudaCalls> LoadOnce() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("memory of a GPU needs its driver: ", dlerror()));
  }
  CudaCalls calls;
  const bool has_all =
      Find(library, "cuInit", calls.init) && Find(library, "cuDeviceGet", calls.device_get) &&
      Find(library, "cuDevicePrimaryCtxRetain", calls.context_retain) &&
      Find(library, "cuDevicePrimaryCtxRelease_v2", calls.context_release) &&
      Find(library, "cuCtxPushCurrent_v2", calls.context_push) &&
      Find(library, "cuCtxPopCurrent_v2", calls.context_pop) &&
      Find(library, "cuMemAlloc_v2", calls.allocate) && Find(library, "cuMemFree_v2", calls.free) &&
      Find(library, "cuMemcpyAsync", calls.copy_async) &&
      Find(library, "cuStreamCreate", calls.stream_create) &&
      Find(library, "cuStreamSynchronize", calls.stream_synchronize) &&
      Find(library, "cuStreamDestroy_v2", calls.stream_destroy) &&
      Find(library, "cuGetErrorString", calls.error_string);
  if (!has_all || calls.init(0) != 0) {
    return absl::FailedPreconditionError(
        "memory of a GPU needs its driver: libcuda.so.1 does not start");
  }
  return calls;
}

// The GPU's context is current for the calling thread while this lives.
class CurrentContext {
 public:
  CurrentContext(const CudaCalls& calls, CudaCalls::Handle context) : calls_(calls) {
    error_ = calls.context_push(context);
  }
  ~CurrentContext() {
    CudaCalls::Handle popped = nullptr;
    if (error_ == 0) calls_.context_pop(&popped);
  }
  int error() const { return error_; }

 private:
  const CudaCalls& calls_;
  int error_ = 0;
};

CudaCalls::Address AddressOf(const void* pointer) {
  return reinterpret_cast<CudaCalls::Address>(pointer);
}

}  // namespace

absl::StatusOr<const CudaCalls*> LoadCudaCalls() {
  static const absl::StatusOr<CudaCalls>& calls = *new absl::StatusOr<CudaCalls>(LoadOnce());
  RETURN_IF_ERROR(calls.status());
  return &*calls;
}

absl::Status DeviceCopies::StatusOf(int error, const char* call) const {
  if (error == 0) return absl::OkStatus();
  const char* text = nullptr;
  if (calls_.error_string(error, &text) != 0 || text == nullptr) text = "unknown error";
  const std::string message = absl::StrCat(call, ": ", text, " (", error, ")");
  if (error == kOutOfMemory) return absl::ResourceExhaustedError(message);
  return absl::FailedPreconditionError(message);
}

absl::StatusOr<std::unique_ptr<DeviceCopies>> DeviceCopies::Open(const CudaCalls& calls,
                                                                 int ordinal) {
  std::unique_ptr<DeviceCopies> copies(new DeviceCopies(calls));
  int device = 0;
  RETURN_IF_ERROR(copies->StatusOf(calls.device_get(&device, ordinal), "cuDeviceGet"));
  RETURN_IF_ERROR(copies->StatusOf(calls.context_retain(&copies->context_, device),
                                   "cuDevicePrimaryCtxRetain"));
  copies->device_ = device;
  const CurrentContext current(calls, copies->context_);
  RETURN_IF_ERROR(copies->StatusOf(current.error(), "cuCtxPushCurrent"));
  RETURN_IF_ERROR(
      copies->StatusOf(calls.stream_create(&copies->stream_, kNonBlocking), "cuStreamCreate"));
  return copies;
}

DeviceCopies::~DeviceCopies() {
  if (device_ < 0) return;
  if (stream_ != nullptr) {
    const CurrentContext current(calls_, context_);
    calls_.stream_destroy(stream_);
  }
  calls_.context_release(device_);
}

absl::Status DeviceCopies::Copy(const void* from, void* to, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const CurrentContext current(calls_, context_);
  RETURN_IF_ERROR(StatusOf(current.error(), "cuCtxPushCurrent"));
  has_unfinished_ = true;
  return StatusOf(calls_.copy_async(AddressOf(to), AddressOf(from), bytes, stream_),
                  "cuMemcpyAsync");
}

absl::Status DeviceCopies::Wait() {
  if (!has_unfinished_) return absl::OkStatus();
  const CurrentContext current(calls_, context_);
  RETURN_IF_ERROR(StatusOf(current.error(), "cuCtxPushCurrent"));
  has_unfinished_ = false;
  return StatusOf(calls_.stream_synchronize(stream_), "cuStreamSynchronize");
}

absl::StatusOr<std::shared_ptr<void>> DeviceCopies::Allocate(int64_t bytes) {
  const CurrentContext current(calls_, context_);
  RETURN_IF_ERROR(StatusOf(current.error(), "cuCtxPushCurrent"));
  CudaCalls::Address address = 0;
  RETURN_IF_ERROR(StatusOf(calls_.allocate(&address, bytes), "cuMemAlloc"));
  return std::shared_ptr<void>(reinterpret_cast<void*>(address), [this](void* memory) {
    const CurrentContext in(calls_, context_);
    calls_.free(AddressOf(memory));
  });
}

}  // namespace onnx_cudnn::triton
