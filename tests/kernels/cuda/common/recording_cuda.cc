#include "tests/kernels/cuda/common/recording_cuda.h"

#include <cuda.h>

#include <algorithm>
#include <string_view>

namespace onnx_cudnn {
namespace {

struct State {
  int fail_at = -1;
  int calls = 0;
  std::vector<RecordedLaunch> launches;
  int copies = 0;
};

State* state = nullptr;

cudaError_t Count() {
  return state->calls++ == state->fail_at ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t FuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  return Count();
}
cudaError_t FuncSetAttribute(const void*, cudaFuncAttribute, int) { return Count(); }

bool Overlaps(const cudaLaunchConfig_t& config) {
  return std::any_of(config.attrs, config.attrs + config.numAttrs, [](const auto& attribute) {
    return attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization;
  });
}

cudaError_t LaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                            void** parameters) {
  state->launches.push_back({function, config->gridDim, config->blockDim, config->dynamicSmemBytes,
                             Overlaps(*config), *static_cast<std::byte*>(parameters[0])});
  return Count();
}

cudaError_t MemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t) {
  ++state->copies;
  return Count();
}
cudaError_t MemsetAsync(void*, int, size_t, cudaStream_t) {
  ++state->copies;
  return Count();
}

cudaError_t DeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 0;
  return cudaSuccess;
}
cudaError_t GetLastError() { return cudaSuccess; }
cudaError_t GetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t MemGetInfo(size_t* free_bytes, size_t* all_bytes) {
  *free_bytes = *all_bytes = 0;
  return cudaSuccess;
}

CUresult EncodeTiled(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                     const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                     CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_SUCCESS;
}
CUresult EncodeIm2col(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                      const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t,
                      const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                      CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_SUCCESS;
}
cudaError_t GetDriverEntryPoint(const char* symbol, void** function, unsigned, unsigned long long,
                                cudaDriverEntryPointQueryResult* result) {
  *function = std::string_view(symbol) == "cuTensorMapEncodeIm2col"
                  ? reinterpret_cast<void*>(EncodeIm2col)
                  : reinterpret_cast<void*>(EncodeTiled);
  *result = cudaDriverEntryPointSuccess;
  return Count();
}

const CudaCalls& Table() {
  static const CudaCalls table = [] {
    CudaCalls calls = {};
    calls.cudaDeviceGetAttribute = DeviceGetAttribute;
    calls.cudaFuncGetAttributes = FuncGetAttributes;
    calls.cudaFuncSetAttribute = FuncSetAttribute;
    calls.cudaGetDevice = GetDevice;
    calls.cudaGetDriverEntryPointByVersion = GetDriverEntryPoint;
    calls.cudaGetLastError = GetLastError;
    calls.cudaLaunchKernelExC = LaunchKernelExC;
    calls.cudaMemGetInfo = MemGetInfo;
    calls.cudaMemcpyAsync = MemcpyAsync;
    calls.cudaMemsetAsync = MemsetAsync;
    return calls;
  }();
  return table;
}

}  // namespace

RecordingCuda::RecordingCuda(int fail_at) : scope_(Table()) {
  state = new State{.fail_at = fail_at};
}
RecordingCuda::~RecordingCuda() {
  delete state;
  state = nullptr;
}

int RecordingCuda::calls() const { return state->calls; }
const std::vector<RecordedLaunch>& RecordingCuda::launches() const { return state->launches; }
int RecordingCuda::copies() const { return state->copies; }

}  // namespace onnx_cudnn
