// Sessions on the CPU device, with Programs for an H200 there, and on the device that behaves like
// a GPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/session_maker.h"

namespace onnx_cudnn {

enum class OnDevice : uint8_t { kCpu, kTarget, kLikeAGpu };

template <typename T>
Tensor TensorOf(std::vector<int64_t> dims, const std::vector<T>& values) {
  Tensor tensor = Tensor::Allocate(session_internal::DTypeOf<T>(), std::move(dims)).value();
  std::copy(values.begin(), values.end(), tensor.template data<T>());
  return tensor;
}

template <typename T>
void ExpectTensor(const ModelValue& value, const std::vector<int64_t>& dims,
                  const std::vector<T>& values) {
  ASSERT_EQ(value.kind(), ValueKind::kTensor);
  const Tensor& tensor = value.tensor();
  EXPECT_EQ(tensor.shape(), dims);
  EXPECT_EQ(tensor.device(), DeviceRef());
  const T* data = tensor.template data<T>();
  EXPECT_EQ(std::vector<T>(data, data + tensor.elements()), values);
}

class SessionOnDevices : public testing::TestWithParam<OnDevice> {
 protected:
  static absl::StatusOr<Session> Make(std::string_view text, SessionOptions options = {}) {
    if (GetParam() == OnDevice::kLikeAGpu) return SessionMaker::Make(text, options);
    ASSIGN_OR_RETURN(const std::string bytes, ModelBytesFromText(text));
    ASSIGN_OR_RETURN(Graph graph, LoadModelBytes(bytes, {}));
    options.target = GetParam() == OnDevice::kTarget ? "h200" : "cpu";
    return SessionMaker::Make(std::move(graph), options);
  }
  void Load(std::string_view text, const SessionOptions& options = {}) {
    absl::StatusOr<Session> session = Make(text, options);
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = std::make_unique<Session>(*std::move(session));
  }
  std::vector<ModelValue> Run(const std::vector<NamedValue>& inputs) {
    auto outputs = session_->RunValues(inputs);
    EXPECT_TRUE(outputs.ok()) << (outputs.ok() ? "" : outputs.error().message);
    return outputs.ok() ? std::move(outputs).value() : std::vector<ModelValue>();
  }
  // Runs equal inputs five times. A Program is captured in its second Run, replayed in later ones.
  //   programs  that the Runs need
  void ExpectCapturedOnce(const std::vector<NamedValue>& inputs, int64_t programs) {
    const int64_t captures = GetParam() == OnDevice::kLikeAGpu ? programs : 0;
    for (int run = 0; run < 2; ++run) Run(inputs);
    EXPECT_EQ(session().stats().graph_captures, captures);
    for (int run = 0; run < 3; ++run) Run(inputs);
    EXPECT_EQ(session().stats().graph_captures, captures);
  }
  const Session& session() const { return *session_; }

 private:
  std::unique_ptr<Session> session_;
};

inline auto AllDevices() {
  return testing::Values(OnDevice::kCpu, OnDevice::kTarget, OnDevice::kLikeAGpu);
}
inline std::string NameOfDevice(const testing::TestParamInfo<OnDevice>& info) {
  constexpr const char* kNames[] = {"Cpu", "Target", "LikeAGpu"};
  return kNames[static_cast<int>(info.param)];
}

}  // namespace onnx_cudnn
