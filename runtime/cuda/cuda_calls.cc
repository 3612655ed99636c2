#include "runtime/cuda/cuda_calls.h"

#include <atomic>

#include "runtime/cuda/cuda_status.h"

namespace onnx_cudnn {
namespace {

constexpr CudaCalls kSystem = {
#define CALL(name, parameters) .name = ::name,
#include "runtime/cuda/cuda_calls.inc"
#undef CALL
};

std::atomic<const CudaCalls*> current{&kSystem};

}  // namespace

const CudaCalls& SystemCudaCalls() { return kSystem; }
const CudaCalls& Cuda() { return *current.load(std::memory_order_acquire); }

ScopedCudaCalls::ScopedCudaCalls(const CudaCalls& calls)
    : before_(current.exchange(&calls)), were_lost_(ReplaceLostDevices(0)) {
  NoteDeviceForThread(0);
}

ScopedCudaCalls::~ScopedCudaCalls() {
  current.store(before_);
  ReplaceLostDevices(were_lost_);
}

}  // namespace onnx_cudnn
