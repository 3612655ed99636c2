// Handles of the C API that destroy themselves, and tensors of the caller.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "onnx_cudnn.h"

namespace onnx_cudnn {

template <typename Handle, void (*kDestroy)(Handle*)>
struct DestroyWith {
  void operator()(Handle* handle) const { kDestroy(handle); }
};
using SessionHandle = std::unique_ptr<onnx_cudnn_session,
                                      DestroyWith<onnx_cudnn_session, onnx_cudnn_session_destroy>>;
using BindingHandle = std::unique_ptr<onnx_cudnn_binding,
                                      DestroyWith<onnx_cudnn_binding, onnx_cudnn_binding_destroy>>;
using TokenHandle =
    std::unique_ptr<onnx_cudnn_cancel_token,
                    DestroyWith<onnx_cudnn_cancel_token, onnx_cudnn_cancel_token_destroy>>;

inline void CallOwnDeleter(DLManagedTensorVersioned* tensor) { tensor->deleter(tensor); }
using OwnedDLTensor = std::unique_ptr<DLManagedTensorVersioned,
                                      DestroyWith<DLManagedTensorVersioned, CallOwnDeleter>>;

inline onnx_cudnn_session_options CpuOptions() {
  onnx_cudnn_session_options options;
  EXPECT_EQ(onnx_cudnn_session_options_init(&options, sizeof(options)), ONNX_CUDNN_OK);
  options.device = ONNX_CUDNN_DEVICE_CPU;
  return options;
}

inline SessionHandle LoadOnCpu(const std::string& model) {
  const onnx_cudnn_session_options options = CpuOptions();
  onnx_cudnn_session* session = nullptr;
  EXPECT_EQ(onnx_cudnn_session_load_bytes(model.data(), model.size(), &options, &session),
            ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  return SessionHandle(session);
}

// A tensor in memory of the test.
struct CallerTensor {
  CallerTensor(void* data, std::vector<int64_t> extents, DLDataType type)
      : shape(std::move(extents)), tensor{data, {kDLCPU, 0},  static_cast<int32_t>(shape.size()),
                                          type, shape.data(), nullptr,
                                          0} {}
  CallerTensor(std::vector<float>& values, std::vector<int64_t> extents)
      : CallerTensor(values.data(), std::move(extents), {kDLFloat, 32, 1}) {}
  CallerTensor(const CallerTensor&) = delete;

  std::vector<int64_t> shape;
  DLTensor tensor;
};

// Expects that a call failed so, and that the message contains `text`.
inline void ExpectStatus(onnx_cudnn_status status, onnx_cudnn_status expected,
                         const std::string& text) {
  EXPECT_EQ(onnx_cudnn_status_name(status), std::string(onnx_cudnn_status_name(expected)))
      << onnx_cudnn_last_error();
  EXPECT_NE(std::string(onnx_cudnn_last_error()).find(text), std::string::npos)
      << onnx_cudnn_last_error();
}

// Runs with one input and one output.
inline onnx_cudnn_status RunOne(const onnx_cudnn_session* session, const DLTensor& input,
                                OwnedDLTensor& output,
                                const onnx_cudnn_run_options* options = nullptr) {
  const DLTensor* inputs[] = {&input};
  DLManagedTensorVersioned* outputs[1] = {};
  const onnx_cudnn_status status =
      onnx_cudnn_session_run(session, nullptr, inputs, 1, outputs, 1, options);
  output.reset(outputs[0]);
  return status;
}

template <typename T>
std::vector<T> ElementsOf(const OwnedDLTensor& owned) {
  const DLTensor& tensor = owned->dl_tensor;
  int64_t count = 1;
  for (int i = 0; i < tensor.ndim; ++i) count *= tensor.shape[i];
  const T* data = static_cast<const T*>(tensor.data);
  return std::vector<T>(data, data + count);
}

// A Binding of the only input and the only output.
inline BindingHandle BindOne(const SessionHandle& session, const DLTensor& input,
                             const DLTensor& output) {
  const DLTensor *inputs[] = {&input}, *outputs[] = {&output};
  onnx_cudnn_binding* binding = nullptr;
  EXPECT_EQ(
      onnx_cudnn_session_bind(session.get(), nullptr, inputs, 1, nullptr, outputs, 1, &binding),
      ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  return BindingHandle(binding);
}

}  // namespace onnx_cudnn
