// Our own definitions of the entry points that cuDNN's frontend calls; they forward to the table.
// Those of NVRTC return an error: only one engine of the frontend, for sm_100, uses them.
#include <nvrtc.h>

#include <cstddef>

#include "runtime/cudnn/cuda/cudnn_calls.h"

namespace onnx_cudnn {
namespace {

template <typename... Parameters, typename... Args>
cudnnStatus_t Forward(cudnnStatus_t (*CudnnCalls::*call)(Parameters...), const char* name,
                      Args... args) {
  const CudnnCalls* calls = Cudnn();
  const cudnnStatus_t status =
      calls == nullptr ? CUDNN_STATUS_NOT_INITIALIZED : (calls->*call)(args...);
  if (status != CUDNN_STATUS_SUCCESS) FrontendCalls::Note(status, name);
  return status;
}

}  // namespace
}  // namespace onnx_cudnn

#define FORWARD(name, ...) \
  return onnx_cudnn::Forward(&onnx_cudnn::CudnnCalls::name, #name, __VA_ARGS__)

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  FORWARD(cudnnBackendCreateDescriptor, type, descriptor);
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  FORWARD(cudnnBackendDestroyDescriptor, descriptor);
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  FORWARD(cudnnBackendExecute, handle, plan, pack);
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  FORWARD(cudnnBackendFinalize, descriptor);
}
cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t asked,
                                       int64_t* found, void* elements) {
  FORWARD(cudnnBackendGetAttribute, descriptor, name, type, asked, found, elements);
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  FORWARD(cudnnBackendSetAttribute, descriptor, name, type, count, elements);
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  FORWARD(cudnnGetStream, handle, stream);
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  const onnx_cudnn::CudnnCalls* calls = onnx_cudnn::Cudnn();
  return calls == nullptr ? "cuDNN is not loaded" : calls->cudnnGetErrorString(status);
}
void cudnnGetLastErrorString(char* message, size_t size) {
  if (size != 0) message[0] = 0;
  const onnx_cudnn::CudnnCalls* calls = onnx_cudnn::Cudnn();
  if (calls != nullptr) calls->cudnnGetLastErrorString(message, size);
}
size_t cudnnGetVersion() {
  const onnx_cudnn::CudnnCalls* calls = onnx_cudnn::Cudnn();
  return calls == nullptr ? 0 : calls->cudnnGetVersion();
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram*, const char*, const char*, int, const char* const*,
                               const char* const*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram*) { return NVRTC_ERROR_INTERNAL_ERROR; }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char*) { return NVRTC_ERROR_INTERNAL_ERROR; }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t*) { return NVRTC_ERROR_INTERNAL_ERROR; }
nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char*) { return NVRTC_ERROR_INTERNAL_ERROR; }
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t*) { return NVRTC_ERROR_INTERNAL_ERROR; }

}  // extern "C"
