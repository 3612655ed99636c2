#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "onnx_cudnn.h"
#include "tests/c_api/fixture.h"
#include "tests/c_api/model_bytes.h"

namespace onnx_cudnn {
namespace {

using testing::ElementsAre;

class CApiRunTest : public testing::Test {
 protected:
  // Runs into output_ by name.
  onnx_cudnn_status RunInto(const char* input_name, const char* output_name) {
    const char* input_names[] = {input_name};
    const char* output_names[] = {output_name};
    const DLTensor* inputs[] = {&input_.tensor};
    const DLTensor* outputs[] = {&output_.tensor};
    return onnx_cudnn_session_run_into(session_.get(), input_names, inputs, 1, output_names,
                                       outputs, 1, nullptr);
  }
  BindingHandle Bind() { return BindOne(session_, input_.tensor, output_.tensor); }

  SessionHandle session_ = LoadOnCpu(ReluModel());
  std::vector<float> x_ = {1, 5}, y_ = {0, 0};
  CallerTensor input_{x_, {1, 2}}, output_{y_, {1, 2}};
};

TEST_F(CApiRunTest, ReturnsOutputs) {
  OwnedDLTensor y;
  ASSERT_EQ(RunOne(session_.get(), input_.tensor, y), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
  EXPECT_THAT(ElementsOf<float>(y), ElementsAre(4, 1));
}

TEST_F(CApiRunTest, RunsByName) {
  ASSERT_EQ(RunInto("x", "y"), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
  EXPECT_THAT(y_, ElementsAre(4, 1));
  ExpectStatus(RunInto("z", "y"), ONNX_CUDNN_INVALID_ARGUMENT, "unknown input \"z\"");
  ExpectStatus(RunInto("x", "z"), ONNX_CUDNN_INVALID_ARGUMENT, "unknown output \"z\"");
  ExpectStatus(RunInto(nullptr, "y"), ONNX_CUDNN_INVALID_ARGUMENT, "name of input 0");
}

TEST_F(CApiRunTest, OutputsMustNotOverlapInputs) {
  output_.tensor.data = x_.data();
  ExpectStatus(RunInto("x", "y"), ONNX_CUDNN_INVALID_ARGUMENT, "overlaps");
}

TEST_F(CApiRunTest, CountsAreChecked) {
  const DLTensor* inputs[] = {&input_.tensor, nullptr};
  DLManagedTensorVersioned* outputs[2] = {};
  const auto run = [&](size_t input_count, size_t output_count) {
    return onnx_cudnn_session_run(session_.get(), nullptr, inputs, input_count, outputs,
                                  output_count, nullptr);
  };
  ExpectStatus(run(0, 1), ONNX_CUDNN_INVALID_ARGUMENT, "expected 1 inputs");
  ExpectStatus(run(2, 1), ONNX_CUDNN_INVALID_ARGUMENT, "input 1: tensor: expected a pointer");
  ExpectStatus(run(1, 2), ONNX_CUDNN_INVALID_ARGUMENT, "output_count: expected 1, found 2");
  ExpectStatus(run(1, 0), ONNX_CUDNN_INVALID_ARGUMENT, "output_count: expected 1, found 0");
  EXPECT_THAT(outputs, ElementsAre(nullptr, nullptr));
  ExpectStatus(onnx_cudnn_session_run(session_.get(), nullptr, nullptr, 1, outputs, 1, nullptr),
               ONNX_CUDNN_INVALID_ARGUMENT, "inputs: expected a pointer");
  ExpectStatus(onnx_cudnn_session_run(session_.get(), nullptr, inputs, 1, nullptr, 1, nullptr),
               ONNX_CUDNN_INVALID_ARGUMENT, "outputs: expected a pointer");
}

TEST_F(CApiRunTest, TensorsAreChecked) {
  OwnedDLTensor y;
  const auto refused = [&](auto change, const std::string& text) {
    DLTensor tensor = input_.tensor;
    change(tensor);
    ExpectStatus(RunOne(session_.get(), tensor, y), ONNX_CUDNN_INVALID_ARGUMENT, text);
  };
  refused([](DLTensor& t) { t.dtype.lanes = 2; }, "code 2, 32 bits, 2 lanes");
  refused([](DLTensor& t) { t.dtype.code = 99; }, "code 99");
  refused([](DLTensor& t) { t.dtype.bits = 64; }, "expected f32[N,2], found f64[1,2]");
  refused([](DLTensor& t) { t.device.device_type = static_cast<DLDeviceType>(7); },
          "device type 7");
  refused([](DLTensor& t) { t.device.device_type = kDLCUDA; }, "CUDA device 0");
  refused([](DLTensor& t) { t.ndim = -1; }, "ndim -1");
  refused([](DLTensor& t) { t.shape = nullptr; }, "no shape");
  refused([](DLTensor& t) { t.ndim = 1; }, "found f32[1]");
  refused([](DLTensor& t) { t.data = nullptr; }, "null pointer");
  int64_t negative[] = {-1, 2}, strides[] = {1, 2};
  refused([&](DLTensor& t) { t.shape = negative; }, "negative");
  refused([&](DLTensor& t) { t.strides = strides; }, "row-major");
}

TEST_F(CApiRunTest, OffsetsAndRowMajorStridesAreTaken) {
  std::vector<float> padded = {9, 9, 1, 5};
  int64_t strides[] = {2, 1};
  DLTensor tensor = input_.tensor;
  tensor.data = padded.data();
  tensor.byte_offset = 8;
  tensor.strides = strides;
  OwnedDLTensor y;
  ASSERT_EQ(RunOne(session_.get(), tensor, y), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
  EXPECT_THAT(ElementsOf<float>(y), ElementsAre(4, 1));
}

TEST_F(CApiRunTest, PinnedHostMemoryIsHostMemory) {
  DLTensor tensor = input_.tensor;
  tensor.device.device_type = kDLCUDAHost;
  OwnedDLTensor y;
  EXPECT_EQ(RunOne(session_.get(), tensor, y), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
}

TEST_F(CApiRunTest, BindingsReadAndWriteBoundMemory) {
  const BindingHandle binding = Bind();
  session_.reset();  // the binding keeps the model
  ASSERT_EQ(onnx_cudnn_binding_run(binding.get(), nullptr), ONNX_CUDNN_OK);
  EXPECT_THAT(y_, ElementsAre(4, 1));
  x_ = {-9, 9};
  ASSERT_EQ(onnx_cudnn_binding_run(binding.get(), nullptr), ONNX_CUDNN_OK);
  EXPECT_THAT(y_, ElementsAre(0, 5));

  double times[] = {-1, -1, -1};
  ASSERT_EQ(onnx_cudnn_binding_time_runs(binding.get(), 3, times), ONNX_CUDNN_OK);
  EXPECT_THAT(times, testing::Each(testing::Ge(0)));
  EXPECT_EQ(onnx_cudnn_binding_time_runs(binding.get(), 0, nullptr), ONNX_CUDNN_OK);
  ExpectStatus(onnx_cudnn_binding_time_runs(binding.get(), -1, times), ONNX_CUDNN_INVALID_ARGUMENT,
               "");
  ExpectStatus(onnx_cudnn_binding_time_runs(binding.get(), 3, nullptr), ONNX_CUDNN_INVALID_ARGUMENT,
               "milliseconds");
  const char* note = nullptr;
  ASSERT_EQ(onnx_cudnn_binding_get_graph_note(binding.get(), &note), ONNX_CUDNN_OK);
  EXPECT_NE(note, nullptr);
}

TEST_F(CApiRunTest, BindingChecksItsTensors) {
  onnx_cudnn_binding* binding = nullptr;
  const DLTensor* inputs[] = {&input_.tensor};
  ExpectStatus(
      onnx_cudnn_session_bind(session_.get(), nullptr, inputs, 1, nullptr, nullptr, 0, &binding),
      ONNX_CUDNN_INVALID_ARGUMENT, "expected 1 outputs");
  EXPECT_EQ(binding, nullptr);
}

TEST_F(CApiRunTest, CopiesToTheDeviceAndBack) {
  DLManagedTensorVersioned* copy = nullptr;
  ASSERT_EQ(onnx_cudnn_session_to_device(session_.get(), &input_.tensor, &copy), ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  const OwnedDLTensor on_device(copy);
  OwnedDLTensor y;
  ASSERT_EQ(RunOne(session_.get(), on_device->dl_tensor, y), ONNX_CUDNN_OK);
  EXPECT_THAT(ElementsOf<float>(y), ElementsAre(4, 1));
  ASSERT_EQ(onnx_cudnn_session_to_host(session_.get(), on_device.get(), &copy), ONNX_CUDNN_OK);
  EXPECT_THAT(ElementsOf<float>(OwnedDLTensor(copy)), ElementsAre(1, 5));

  DLManagedTensorVersioned other = {};
  ExpectStatus(onnx_cudnn_session_to_host(session_.get(), &other, &copy),
               ONNX_CUDNN_INVALID_ARGUMENT, "another's");
}

}  // namespace
}  // namespace onnx_cudnn
