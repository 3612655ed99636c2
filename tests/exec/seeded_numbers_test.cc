#include "runtime/exec/seeded_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/graph/float16.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMany = 100003;  // several threads' share

uint64_t Scrambled(uint64_t x) {  // splitmix64
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// The lowest eight bits that each element is computed from, in order.
std::vector<int> BitsOfElements(uint64_t seed) {
  std::vector<int> bits;
  uint64_t at = Scrambled(seed + 1);
  for (int64_t i = 0; i < kMany; ++i) {
    at += 0x9e3779b97f4a7c15u;
    bits.push_back(static_cast<int>(Scrambled(at) & 0xff));
  }
  return bits;
}

TEST(SeededNumbersTest, FloatsAreThoseOfTheSeedHoweverManyThreadsThereAre) {
  for (const uint64_t seed : {0, 7}) {
    const std::vector<int> bits = BitsOfElements(seed);
    const HostTensor halves = SeededNumbers(DType::kF16, {kMany}, seed, IndexValues::kZero);
    const HostTensor floats = SeededNumbers(DType::kF32, {kMany}, seed, IndexValues::kZero);
    for (int64_t i = 0; i < kMany; ++i) {
      const float expected = static_cast<float>(bits[i] - 128) / 128;
      ASSERT_EQ(ToFloat(halves.data<Float16>()[i]), expected) << i;
      ASSERT_EQ(floats.data<float>()[i], expected) << i;
    }
  }
}

TEST(SeededNumbersTest, IntegersAreSmall) {
  const std::vector<int> bits = BitsOfElements(3);
  const HostTensor bytes = SeededNumbers(DType::kU8, {kMany}, 3, IndexValues::kZeroOrOne);
  const HostTensor indices = SeededNumbers(DType::kI64, {kMany}, 3, IndexValues::kZeroOrOne);
  const HostTensor zeros = SeededNumbers(DType::kI64, {kMany}, 3, IndexValues::kZero);
  for (int64_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(bytes.data<uint8_t>()[i], bits[i] & 7) << i;
    ASSERT_EQ(indices.data<int64_t>()[i], bits[i] & 1) << i;
    ASSERT_EQ(zeros.data<int64_t>()[i], 0) << i;
  }
}

TEST(SeededNumbersTest, OtherTypesAreZeroBits) {
  const HostTensor tensor = SeededNumbers(DType::kU4, {1001}, 0, IndexValues::kZero);
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
  for (int64_t i = 0; i < tensor.bytes(); ++i) ASSERT_EQ(bytes[i], 0) << i;
}

TEST(SeededNumbersTest, WritesTheSameNumbersWhereItIsTold) {
  std::vector<float> written(kMany + 1, 5);
  WriteSeededNumbers(DType::kF32, kMany, 9, IndexValues::kZero, written.data());
  const HostTensor made = SeededNumbers(DType::kF32, {kMany}, 9, IndexValues::kZero);
  EXPECT_TRUE(std::equal(written.begin(), written.end() - 1, made.data<float>().begin()));
  EXPECT_EQ(written.back(), 5);
}

}  // namespace
}  // namespace onnx_cudnn
