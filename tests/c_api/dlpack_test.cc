// Types, ownership and strings of the tensors that cross the border.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "onnx_cudnn.h"
#include "tests/c_api/fixture.h"
#include "tests/c_api/model_bytes.h"

namespace {
// Bytes of tensors: the library allocates them with this alignment and nothing else.
constexpr size_t kTensorAlignment = 64;
std::atomic<int64_t> live_tensors = 0;
}  // namespace

// These replace the library's, too.
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto bytes = static_cast<size_t>(alignment);
  if (bytes == kTensorAlignment) ++live_tensors;
  return std::aligned_alloc(bytes, (size + bytes) / bytes * bytes);
}
void* operator new(size_t size, std::align_val_t alignment) {
  void* data = operator new(size, alignment, std::nothrow);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}
void operator delete(void* data, std::align_val_t alignment) noexcept {
  if (data != nullptr && static_cast<size_t>(alignment) == kTensorAlignment) --live_tensors;
  std::free(data);
}
void operator delete(void* data, size_t, std::align_val_t alignment) noexcept {
  operator delete(data, alignment);
}

namespace onnx_cudnn {
namespace {

using testing::ElementsAre;

TEST(CApiDlpackTest, AnOutputIsFreedByItsDeleterAlone) {
  SessionHandle session = LoadOnCpu(ReluModel());
  std::vector<float> x = {1, 5};
  const CallerTensor input(x, {1, 2});
  OwnedDLTensor first;
  ASSERT_EQ(RunOne(session.get(), input.tensor, first), ONNX_CUDNN_OK);  // builds the Program
  const int64_t before = live_tensors;
  OwnedDLTensor y;
  ASSERT_EQ(RunOne(session.get(), input.tensor, y), ONNX_CUDNN_OK);
  EXPECT_EQ(live_tensors, before + 1);
  session.reset();
  EXPECT_THAT(ElementsOf<float>(y), ElementsAre(4, 1));
  const int64_t with_outputs = live_tensors;
  y.reset();
  EXPECT_EQ(live_tensors, with_outputs - 1);
}

TEST(CApiDlpackTest, AnInputIsBorrowed) {
  const SessionHandle session = LoadOnCpu(ReluModel());
  std::vector<float> x = {1, 5};
  CallerTensor input(x, {1, 2});
  static int deleted = 0;
  DLManagedTensorVersioned managed = {};
  managed.deleter = [](DLManagedTensorVersioned*) { ++deleted; };
  managed.dl_tensor = input.tensor;
  OwnedDLTensor y;
  EXPECT_EQ(RunOne(session.get(), managed.dl_tensor, y), ONNX_CUDNN_OK);
  EXPECT_EQ(deleted, 0);
}

TEST(CApiDlpackTest, AnOutputIsWhatConsumersExpect) {
  const SessionHandle session = LoadOnCpu(IdentityModel(1, {"2", "0", "3"}));
  std::vector<float> none;
  OwnedDLTensor y;
  ASSERT_EQ(RunOne(session.get(), CallerTensor(none, {2, 0, 3}).tensor, y), ONNX_CUDNN_OK)
      << onnx_cudnn_last_error();
  EXPECT_EQ(y->version.major, 1u);
  EXPECT_EQ(y->flags, 0u);
  EXPECT_EQ(y->dl_tensor.byte_offset, 0u);
  EXPECT_EQ(y->dl_tensor.device.device_type, kDLCPU);
  ASSERT_EQ(y->dl_tensor.ndim, 3);
  EXPECT_THAT(std::vector<int64_t>(y->dl_tensor.shape, y->dl_tensor.shape + 3),
              ElementsAre(2, 0, 3));
  EXPECT_THAT(std::vector<int64_t>(y->dl_tensor.strides, y->dl_tensor.strides + 3),
              ElementsAre(3, 3, 1));
}

struct TypeRow {
  int onnx;
  DLDataType dlpack;
};
constexpr TypeRow kTypes[] = {
    {1, {kDLFloat, 32, 1}},
    {2, {kDLUInt, 8, 1}},
    {3, {kDLInt, 8, 1}},
    {4, {kDLUInt, 16, 1}},
    {5, {kDLInt, 16, 1}},
    {6, {kDLInt, 32, 1}},
    {7, {kDLInt, 64, 1}},
    {9, {kDLBool, 8, 1}},
    {10, {kDLFloat, 16, 1}},
    {11, {kDLFloat, 64, 1}},
    {12, {kDLUInt, 32, 1}},
    {13, {kDLUInt, 64, 1}},
    {14, {kDLComplex, 64, 1}},
    {15, {kDLComplex, 128, 1}},
    {16, {kDLBfloat, 16, 1}},
    {17, {kDLFloat8_e4m3fn, 8, 1}},
    {18, {kDLFloat8_e4m3fnuz, 8, 1}},
    {19, {kDLFloat8_e5m2, 8, 1}},
    {20, {kDLFloat8_e5m2fnuz, 8, 1}},
    {21, {kDLUInt, 4, 1}},
    {22, {kDLInt, 4, 1}},
    {23, {kDLFloat4_e2m1fn, 4, 1}},
};

TEST(CApiDlpackTest, EveryTypeHasItsCode) {
  for (const auto& [onnx, type] : kTypes) {
    SCOPED_TRACE(onnx);
    const SessionHandle session = LoadOnCpu(IdentityModel(onnx, {"3"}));
    alignas(16) unsigned char bytes[48];
    for (size_t i = 0; i < sizeof(bytes); ++i) bytes[i] = i % 2;
    OwnedDLTensor y;
    ASSERT_EQ(RunOne(session.get(), CallerTensor(bytes, {3}, type).tensor, y), ONNX_CUDNN_OK)
        << onnx_cudnn_last_error();
    EXPECT_EQ(y->dl_tensor.dtype.code, type.code);
    EXPECT_EQ(y->dl_tensor.dtype.bits, type.bits);
    EXPECT_EQ(y->dl_tensor.dtype.lanes, 1);
    const auto* out = static_cast<const unsigned char*>(y->dl_tensor.data);
    const int whole_bytes = 3 * type.bits / 8;
    EXPECT_EQ(std::vector<int>(out, out + whole_bytes),
              std::vector<int>(bytes, bytes + whole_bytes));
  }
}

constexpr DLDataType kStringType = {kDLOpaqueHandle, 128, 1};
constexpr int kOnnxString = 8;

TEST(CApiDlpackTest, StringsKeepTheirBytes) {
  const SessionHandle session = LoadOnCpu(IdentityModel(kOnnxString, {"3"}));
  onnx_cudnn_string words[] = {{"a\0b", 3}, {nullptr, 0}, {"grün", 5}};
  CallerTensor input(words, {3}, kStringType);
  OwnedDLTensor y;
  ASSERT_EQ(RunOne(session.get(), input.tensor, y), ONNX_CUDNN_OK) << onnx_cudnn_last_error();
  EXPECT_EQ(y->dl_tensor.dtype.code, kDLOpaqueHandle);
  EXPECT_EQ(y->dl_tensor.dtype.bits, 128);
  std::vector<std::string> found;
  for (const onnx_cudnn_string& word : ElementsOf<onnx_cudnn_string>(y)) {
    found.emplace_back(word.data, word.size);
  }
  EXPECT_THAT(found, ElementsAre(std::string("a\0b", 3), "", "grün"));
}

TEST(CApiDlpackTest, WrongStringsAreErrors) {
  const SessionHandle session = LoadOnCpu(IdentityModel(kOnnxString, {"1"}));
  onnx_cudnn_string words[] = {{nullptr, 2}};
  CallerTensor input(words, {1}, kStringType);
  OwnedDLTensor y;
  ExpectStatus(RunOne(session.get(), input.tensor, y), ONNX_CUDNN_INVALID_ARGUMENT, "string 0");
  int64_t strides[] = {0};
  input.tensor.strides = strides;
  ExpectStatus(RunOne(session.get(), input.tensor, y), ONNX_CUDNN_INVALID_ARGUMENT, "strides");
  input.tensor.strides = nullptr;
  input.tensor.data = nullptr;
  ExpectStatus(RunOne(session.get(), input.tensor, y), ONNX_CUDNN_INVALID_ARGUMENT, "null pointer");
  int64_t huge[] = {INT64_MAX};
  input.tensor.data = words;
  input.tensor.shape = huge;
  ExpectStatus(RunOne(session.get(), input.tensor, y), ONNX_CUDNN_INVALID_ARGUMENT, "");

  words[0] = {"x", 1};
  const CallerTensor in(words, {1}, kStringType), out(words, {1}, kStringType);
  const DLTensor *inputs[] = {&in.tensor}, *outputs[] = {&out.tensor};
  ExpectStatus(
      onnx_cudnn_session_run_into(session.get(), nullptr, inputs, 1, nullptr, outputs, 1, nullptr),
      ONNX_CUDNN_UNIMPLEMENTED, "onnx_cudnn_session_run");
  DLManagedTensorVersioned* copy = nullptr;
  ExpectStatus(onnx_cudnn_session_to_device(session.get(), &in.tensor, &copy),
               ONNX_CUDNN_INVALID_ARGUMENT, "string");
}

}  // namespace
}  // namespace onnx_cudnn
