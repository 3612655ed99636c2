#include "tests/gpu/gpu_test.h"

#include <cstdlib>
#include <iostream>

#include "runtime/base/status.h"
#include "runtime/exec/cpu_device.h"

namespace onnx_cudnn {
namespace {

absl::StatusOr<OpenedDevice> Open() {
  if (!IsEmulated()) return OpenDevice({.device = DeviceChoice::kCuda});
  std::cout << "emulated: by the rules of an H200 the CPU device runs the references of the ops, "
               "and they are compared with the same references: that proves these tests and the "
               "plans, and no kernel"
            << std::endl;
  OpenedDevice opened{.device = MakeCpuDevice({.like_a_gpu = true})};
  ASSIGN_OR_RETURN(opened.target, MakeTarget("h200"));
  return opened;
}

}  // namespace

bool IsEmulated() { return std::getenv("ONNX_CUDNN_EMULATED") != nullptr; }

const absl::StatusOr<OpenedDevice>& GpuUnderTest() {
  // Never destroyed: a library's own clean-up at process exit may run first.
  static const auto& opened = *new absl::StatusOr<OpenedDevice>(Open());
  return opened;
}

std::string Variable(const char* variable) {
  const char* path = std::getenv(variable);
  return path == nullptr ? "" : path;
}

void GpuTest::SetUp() {
  const absl::StatusOr<OpenedDevice>& opened = GpuUnderTest();
  if (!opened.ok()) GTEST_SKIP() << "needs a CUDA device: " << opened.status().message();
  constants_ = std::make_unique<ConstantStore>(*opened->device);
}

}  // namespace onnx_cudnn
