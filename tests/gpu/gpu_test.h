// What tests on a GPU share. Without one they skip and say why.
#pragma once

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "runtime/exec/constant_store.h"
#include "runtime/session/open_device.h"

namespace onnx_cudnn {

// The GPU with its Target, opened once a process, or why there is none. With ONNX_CUDNN_EMULATED in
// the environment: the CPU device that behaves like a GPU, under the rules of an H200. Its Steps
// are the references that they are compared with, as it says: it proves the tests themselves.
const absl::StatusOr<OpenedDevice>& GpuUnderTest();
bool IsEmulated();

// What an environment variable holds; empty: not set.
std::string Variable(const char* variable);

class GpuTest : public testing::Test {
 protected:
  void SetUp() override;
  Device& device() const { return *GpuUnderTest()->device; }
  const Target& target() const { return GpuUnderTest()->target.target; }
  ConstantStore& constants() { return *constants_; }

 private:
  std::unique_ptr<ConstantStore> constants_;
};

}  // namespace onnx_cudnn
