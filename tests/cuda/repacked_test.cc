#include "runtime/cuda/repacked.h"

#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

TEST(RepackedTest, PaddingIsZero) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const HostTensor weight = HostTensor::Of<float>(DType::kF32, {2, 3, 1, 1}, values);
  const Format padded = Format::Of({{0, 1, 4, 4}, {1, 1, 4, 4}});
  const Derived derived = Repacked(0, weight.dims(), padded);
  EXPECT_EQ(derived.recipe, "packed from [2,3,1,1]");
  const HostTensor made = *derived.make({&weight, 1});
  const auto data = made.data<float>();
  EXPECT_EQ(std::vector<float>(data.begin(), data.end()),
            std::vector<float>({1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(RepackedTest, ItsOwnBytesAreUnchanged) {
  EXPECT_EQ(Repacked(3, {2, 3}, Format::RowMajor({2, 3})).recipe, "");
  EXPECT_EQ(Repacked(3, {2, 3}, Format::RowMajor({2, 3})).from, std::vector<int>({3}));
}

}  // namespace
}  // namespace onnx_cudnn
