// Says once per process what an emulated run proves.
#include <gtest/gtest.h>

#include <iostream>

namespace onnx_cudnn {
namespace {

class Announcement : public testing::Environment {
 public:
  void SetUp() override {
    std::cout << "emulated: the source of our kernels runs on the host. Results are compared with "
                 "the references of the ops (kernels, case rows, networks, random graphs), with "
                 "the outputs stored with ONNX's test vectors (vectors) and with the CPU device "
                 "(sessions); no GPU, cuDNN or cuBLASLt is involved"
              << std::endl;
  }
};

[[maybe_unused]] const testing::Environment* const announcement =
    testing::AddGlobalTestEnvironment(new Announcement);  // which owns it

}  // namespace
}  // namespace onnx_cudnn
