// Shared by tests on a GPU. Without a GPU they skip and print the reason.
#pragma once

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "runtime/exec/constant_store.h"
#include "runtime/session/open_device.h"

namespace onnx_cudnn {

// The GPU with its Target, opened once per process, or why there is none. If ONNX_CUDNN_EMULATED is
// set: the CPU device that behaves like a GPU, with the rules for an H200. Its Steps are the
// references that results are compared with, so this only checks the tests themselves.
const absl::StatusOr<OpenedDevice>& GpuUnderTest();
bool IsEmulated();

// The value of an environment variable; empty: not set.
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
