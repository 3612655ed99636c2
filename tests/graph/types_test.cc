#include "runtime/graph/types.h"

#include <gtest/gtest.h>

#include <limits>

namespace onnx_cudnn {
namespace {

TEST(DTypeTest, NamesAndBits) {
  EXPECT_EQ(NameOf(DType::kF32), "f32");
  EXPECT_EQ(NameOf(DType::kBF16), "bf16");
  EXPECT_EQ(NameOf(DType::kI2), "i2");
  EXPECT_EQ(BitsOf(DType::kC128), 128);
  EXPECT_EQ(BitsOf(DType::kU4), 4);
  EXPECT_EQ(BitsOf(DType::kString), 0);
}

TEST(DTypeTest, SetsHoldWhatTheyList) {
  EXPECT_TRUE(kFloatTypes.Has(DType::kF16));
  EXPECT_FALSE(kFloatTypes.Has(DType::kI8));
  EXPECT_TRUE((kFloatTypes | kIntegerTypes).Has(DType::kI8));
  EXPECT_FALSE(kFixedSizeTypes.Has(DType::kString));
}

TEST(DimsTest, BytesArePackedAndRoundedUp) {
  EXPECT_EQ(BytesOf(DType::kF32, 3), 12);
  EXPECT_EQ(BytesOf(DType::kI4, 3), 2);
  EXPECT_EQ(BytesOf(DType::kU2, 5), 2);
  EXPECT_EQ(ElementsOf({}), 1);
  EXPECT_EQ(ElementsOf({2, 0, 3}), 0);
}

TEST(DimsTest, CheckedBytesRefusesOverflowAndNegativeExtents) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_EQ(*CheckedBytes(DType::kF32, {2, 3}), 24);
  EXPECT_EQ(*CheckedBytes(DType::kF32, {2, 0}), 0);
  EXPECT_EQ(CheckedBytes(DType::kF32, {2, -1}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(CheckedBytes(DType::kU8, {kHuge, kHuge}).ok());
  EXPECT_FALSE(CheckedBytes(DType::kF64, {std::numeric_limits<int64_t>::max() / 8}).ok());
  EXPECT_FALSE(CheckedBytes(DType::kU8, {kHuge, kHuge, 0}).ok());  // loops multiply the others
}

TEST(TypeTest, StaticMeansEveryDimIsANumber) {
  Type type = Type::Tensor(DType::kF32, {2, 3});
  EXPECT_TRUE(type.is_static());
  type.dims[0] = {.symbol = "N"};
  EXPECT_FALSE(type.is_static());
  EXPECT_FALSE(Type{}.is_static());
}

TEST(TypeTest, PrintsDimsSymbolsAndContainers) {
  Type type = Type::Tensor(DType::kF32, {2, 3});
  type.dims[0] = {.symbol = "N"};
  type.dims.push_back({});
  EXPECT_EQ(ToString(type), "f32[N,3,?]");
  EXPECT_EQ(ToString(Type::Tensor(DType::kI64, {})), "i64[]");
  EXPECT_EQ(ToString(Type{.kind = Type::Kind::kTensor, .dtype = DType::kI64}), "i64");
  const Type sequence{.kind = Type::Kind::kSequence, .element = std::make_shared<Type>(type)};
  EXPECT_EQ(ToString(sequence), "sequence(f32[N,3,?])");
  EXPECT_EQ(ToString(absl::Span<const int64_t>({1, 2})), "[1,2]");
}

TEST(TypeTest, EqualityLooksIntoContainers) {
  const auto element = [](DType dtype) { return std::make_shared<Type>(Type::Tensor(dtype, {1})); };
  const Type a{.kind = Type::Kind::kOptional, .element = element(DType::kF32)};
  const Type b{.kind = Type::Kind::kOptional, .element = element(DType::kF32)};
  const Type c{.kind = Type::Kind::kOptional, .element = element(DType::kF16)};
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == c);
  EXPECT_FALSE(a == Type{.kind = Type::Kind::kOptional});
}

}  // namespace
}  // namespace onnx_cudnn
