#include "runtime/graph/host_tensor.h"

#include <gtest/gtest.h>

namespace onnx_cudnn {
namespace {

TEST(HostTensorTest, MemoryIsAlignedAndNeverNull) {
  for (int64_t n : {0, 1, 100}) {
    HostTensor tensor = HostTensor::Allocate(DType::kF32, {n});
    EXPECT_NE(tensor.raw(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw()) % 64, 0u);
    EXPECT_EQ(tensor.bytes(), 4 * n);
  }
}

TEST(HostTensorTest, CopiesAndReshapesShareBytes) {
  const HostTensor tensor = HostTensor::Ints({1, 2, 3, 4});
  const HostTensor copy = tensor, square = tensor.Reshaped({2, 2});
  EXPECT_EQ(copy.raw(), tensor.raw());
  EXPECT_EQ(square.raw(), tensor.raw());
  EXPECT_EQ(square.dims(), (Dims{2, 2}));
}

TEST(HostTensorTest, BorrowKeepsTheOwnerAlive) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  std::weak_ptr<std::vector<float>> watch = owner;
  HostTensor tensor = HostTensor::Borrow(DType::kF32, {2}, owner->data(), owner);
  owner.reset();
  EXPECT_EQ(tensor.data<float>()[1], 2);
  tensor = HostTensor();
  EXPECT_TRUE(watch.expired());
}

TEST(HostTensorTest, ContentIsDTypeDimsAndBytes) {
  const HostTensor a = HostTensor::Ints({1, 2}), b = HostTensor::Ints({1, 2}),
                   c = HostTensor::Ints({1, 3});
  EXPECT_TRUE(SameContent(a, b));
  EXPECT_FALSE(SameContent(a, c));
  EXPECT_FALSE(SameContent(a, a.Reshaped({2, 1})));
  EXPECT_TRUE(SameContent(HostTensor::Strings({1}, {"x"}), HostTensor::Strings({1}, {"x"})));
  EXPECT_FALSE(SameContent(HostTensor::Strings({1}, {"x"}), HostTensor::Strings({1}, {"y"})));
}

TEST(HostTensorTest, IntsComeFromEveryIntegerType) {
  const std::vector<int8_t> small = {-1, 5};
  const std::vector<uint32_t> large = {4000000000u};
  EXPECT_EQ(*ToInts(HostTensor::Of<int8_t>(DType::kI8, {2}, small)), (std::vector<int64_t>{-1, 5}));
  EXPECT_EQ(*ToInts(HostTensor::Of<uint32_t>(DType::kU32, {}, large)),
            (std::vector<int64_t>{4000000000}));
  EXPECT_EQ(ToInts(HostTensor::Allocate(DType::kF32, {1})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace onnx_cudnn
