// Tensors in device memory and the caller's stream. Skipped where there is no GPU.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "onnx_cudnn.h"
#include "tests/c_api/fixture.h"
#include "tests/c_api/model_bytes.h"

namespace onnx_cudnn {
namespace {

using testing::ElementsAre;

class CApiGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "needs a GPU";
    onnx_cudnn_session_options options;
    ASSERT_EQ(onnx_cudnn_session_options_init(&options, sizeof(options)), ONNX_CUDNN_OK);
    options.device = ONNX_CUDNN_DEVICE_CUDA;
    // In an archive of tools/package.sh it lies elsewhere.
    const char* library = std::getenv("SCALED_SWISH");
    if (library == nullptr) library = SCALED_SWISH;
    options.op_libraries = &library;
    options.op_library_count = 1;
    session_ = Load(ReluModel(), options);
    swish_ = Load(SwishModel(), options);
    ASSERT_TRUE(session_ && swish_) << onnx_cudnn_last_error();
    ASSERT_EQ(cudaMalloc(&input_, kBytes), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&output_, kBytes), cudaSuccess);
    void* pinned = nullptr;
    ASSERT_EQ(cudaMallocHost(&pinned, 2 * kBytes), cudaSuccess);
    host_ = static_cast<float*>(pinned);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ == nullptr) return;
    cudaStreamDestroy(stream_);
    cudaFreeHost(host_);
    cudaFree(output_);
    cudaFree(input_);
  }

  static SessionHandle Load(const std::string& model, const onnx_cudnn_session_options& options) {
    onnx_cudnn_session* loaded = nullptr;
    onnx_cudnn_session_load_bytes(model.data(), model.size(), &options, &loaded);
    return SessionHandle(loaded);
  }
  // y[N,2] = ScaledSwish(x[N,2]), scaled by 2, of examples/op_library.
  static std::string SwishModel() {
    BuiltNode node = {.op = "ScaledSwish", .domain = "com.example"};
    node.inputs = {"x"};
    node.outputs = {"y"};
    node.floats = {{"scale", 2.0F}};
    return BytesOf({.nodes = {node},
                    .inputs = {{"x", 1, {"N", "2"}}},
                    .outputs = {{"y", 1, {"N", "2"}}},
                    .custom_domains = {"com.example"}});
  }
  BindingHandle Bind(const SessionHandle& session) {
    return BindOne(session, OnDevice(input_), OnDevice(output_));
  }
  // Runs between copies from host_[0..1] and to host_[2..3], all on the stream.
  void EnqueueRun(const BindingHandle& binding) {
    onnx_cudnn_run_options run;
    ASSERT_EQ(onnx_cudnn_run_options_init(&run, sizeof(run)), ONNX_CUDNN_OK);
    run.stream = stream_;
    ASSERT_EQ(cudaMemcpyAsync(input_, host_, kBytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
    ASSERT_EQ(onnx_cudnn_binding_run(binding.get(), &run), ONNX_CUDNN_OK)
        << onnx_cudnn_last_error();
    ASSERT_EQ(cudaMemcpyAsync(host_ + 2, output_, kBytes, cudaMemcpyDeviceToHost, stream_),
              cudaSuccess);
  }

  static DLTensor OnDevice(void* data) {
    static int64_t shape[] = {1, 2};
    return {data, {kDLCUDA, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  }

  static constexpr size_t kBytes = 2 * sizeof(float);
  SessionHandle session_, swish_;
  void *input_ = nullptr, *output_ = nullptr;
  float* host_ = nullptr;  // two inputs, two outputs; pinned
  cudaStream_t stream_ = nullptr;
};

// The stream's work before the Run ends after the Run's call has returned.
TEST_F(CApiGpuTest, ARunIsEnqueuedOnTheStreamAndNotWaitedFor) {
  const BindingHandle binding = Bind(session_);
  for (int i = 0; i < 4; ++i) {  // from the second on in a CUDA graph
    struct Gate {
      std::atomic<bool> open = false, came_late = false;
    } gate;
    const auto wait = [](void* data) {
      auto& gate = *static_cast<Gate*>(data);
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!gate.open && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
      gate.came_late = !gate.open;
    };
    host_[0] = static_cast<float>(i);
    host_[1] = static_cast<float>(i + 5);
    ASSERT_EQ(cudaLaunchHostFunc(stream_, wait, &gate), cudaSuccess);
    EnqueueRun(binding);
    gate.open = true;
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_FALSE(gate.came_late);
    EXPECT_THAT(std::vector<float>(host_ + 2, host_ + 4), ElementsAre(i + 3, i + 1));
  }
}

// A kernel of the user's library on the caller's stream: launched, captured and replayed.
TEST_F(CApiGpuTest, AnOpOfALibraryIsLaunchedOnTheStream) {
  const BindingHandle binding = Bind(swish_);
  for (int i = 0; i < 4; ++i) {
    host_[0] = static_cast<float>(i);
    host_[1] = -1;
    EnqueueRun(binding);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    const float expected = 2 * static_cast<float>(i) / (1 + std::exp(-static_cast<float>(i)));
    EXPECT_NEAR(host_[2], expected, 1e-5) << i;
    EXPECT_NEAR(host_[3], -2 / (1 + std::exp(1.0F)), 1e-5) << i;
  }
}

TEST_F(CApiGpuTest, ARunWithoutAStreamHasEndedOnReturn) {
  const DLTensor x = OnDevice(input_), y = OnDevice(output_);
  const DLTensor *inputs[] = {&x}, *outputs[] = {&y};
  host_[0] = 7;
  host_[1] = 6;
  ASSERT_EQ(cudaMemcpy(input_, host_, kBytes, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(
      onnx_cudnn_session_run_into(session_.get(), nullptr, inputs, 1, nullptr, outputs, 1, nullptr),
      ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  ASSERT_EQ(cudaMemcpyAsync(host_ + 2, output_, kBytes, cudaMemcpyDeviceToHost, stream_),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_THAT(std::vector<float>(host_ + 2, host_ + 4), ElementsAre(10, 2));
}

TEST_F(CApiGpuTest, CopiesToTheDeviceAndBackKeepTheirValues) {
  std::vector<float> x = {2, 9};
  const CallerTensor input(x, {1, 2});
  DLManagedTensorVersioned *copy = nullptr, *back = nullptr;
  ASSERT_EQ(onnx_cudnn_session_to_device(session_.get(), &input.tensor, &copy), ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  const OwnedDLTensor on_device(copy);
  EXPECT_EQ(on_device->dl_tensor.device.device_type, kDLCUDA);
  ASSERT_EQ(onnx_cudnn_session_to_host(session_.get(), copy, &back), ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  const OwnedDLTensor on_host(back);
  EXPECT_THAT(ElementsOf<float>(on_host), ElementsAre(2, 9));
  OwnedDLTensor y;
  ASSERT_EQ(RunOne(session_.get(), on_device->dl_tensor, y), ONNX_CUDNN_OK);
  EXPECT_THAT(ElementsOf<float>(y), ElementsAre(5, 5));
}

}  // namespace
}  // namespace onnx_cudnn
