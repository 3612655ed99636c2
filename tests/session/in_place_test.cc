// Outputs in the memory of inputs: caches that a model updates.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "tests/session/on_devices.h"
#include "tests/session/shifted_relu.h"

namespace onnx_cudnn {
namespace {

class InPlaceTest : public SessionOnDevices {};

// The cache [1, 3, 2] and the sums of its rows after the update.
constexpr std::string_view kCache = R"(
    g (float[1,3,2] cache, float[1,1,2] row, int64[1] at) => (float[1,3,1] sums, float[1,3,2] next) {
      axis = Constant<value_ints = [2]>()
      next = TensorScatter<axis = 1>(cache, row, at)
      sums = ReduceSum(next, axis)
    })";

TEST_P(InPlaceTest, ACacheGrowsInItsOwnMemory) {
  Load(kCache);
  std::vector<float> cache(6, 0), row(2), sums(3);
  int64_t at = 0;
  auto binding =
      session().Bind({View(cache.data(), {1, 3, 2}), View(row.data(), {1, 1, 2}), View(&at, {1})},
                     {View(sums.data(), {1, 3, 1}), View(cache.data(), {1, 3, 2})});
  ASSERT_TRUE(binding.ok()) << binding.error().message;
  for (at = 0; at < 3; ++at) {
    row = {1.0f + at, 10.0f};
    ASSERT_TRUE(binding.value().Run().ok());
  }
  EXPECT_EQ(cache, (std::vector<float>{1, 10, 2, 10, 3, 10}));
  EXPECT_EQ(sums, (std::vector<float>{11, 12, 13}));
}

TEST_P(InPlaceTest, UpdatesMayAddToWhatIsThere) {
  Load(R"(
    g (float[4] sums, int64[2,1] at, float[2] x) => (float[4] next) {
      next = ScatterND<reduction = "add">(sums, at, x)
    })");
  std::vector<float> sums = {0, 1, 2, 3}, x = {10, 20};
  const std::array<int64_t, 2> at = {1, 3};
  for (int run = 0; run < 2; ++run) {
    const auto done =
        session().Run({View(sums.data(), {4}), View(at.data(), {2, 1}), View(x.data(), {2})},
                      {View(sums.data(), {4})}, {});
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  EXPECT_EQ(sums, (std::vector<float>{0, 21, 2, 43}));
}

TEST_P(InPlaceTest, SeveralProgramsUpdateACache) {
  Load(R"(
    g (float[1,3,2] cache, float[1,1,2] row, int64[1] at) => (float[1,3,2] next, int64[3,K] found) {
      next = TensorScatter<axis = 1>(cache, row, at)
      found = NonZero(row)
    })");
  std::vector<float> cache(6, 0), row = {1, 10};
  std::vector<int64_t> found(6, -1);
  for (int64_t at = 0; at < 3; at += 2) {
    const auto done =
        session().Run({View(cache.data(), {1, 3, 2}), View(row.data(), {1, 1, 2}), View(&at, {1})},
                      {View(cache.data(), {1, 3, 2}), View(found.data(), {3, 2})}, {});
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  EXPECT_EQ(cache, (std::vector<float>{1, 10, 0, 0, 1, 10}));
  EXPECT_EQ(found, (std::vector<int64_t>{0, 0, 0, 0, 0, 1}));
}

TEST_P(InPlaceTest, OtherMemoryOfTheInputIsRefused) {
  Load(kCache);
  std::vector<float> cache(7, 0), row(2), sums(3);
  const int64_t at = 0;
  ExpectError(
      session().Run({View(cache.data(), {1, 3, 2}), View(row.data(), {1, 1, 2}), View(&at, {1})},
                    {View(sums.data(), {1, 3, 1}), View(cache.data() + 1, {1, 3, 2})}, {}),
      ErrorCode::kInvalidArgument, "output 1 overlaps input 0");
}

TEST_P(InPlaceTest, AnInputWithAnotherReaderIsRefused) {
  Load(R"(
    g (float[1,3,2] cache, float[1,1,2] row, int64[1] at) => (float[1,3,2] next, float[1,3,2] twice) {
      next = TensorScatter<axis = 1>(cache, row, at)
      twice = Add(cache, cache)
    })");
  std::vector<float> cache(6, 0), row(2), twice(6);
  const int64_t at = 0;
  ExpectError(
      session().Run({View(cache.data(), {1, 3, 2}), View(row.data(), {1, 1, 2}), View(&at, {1})},
                    {View(cache.data(), {1, 3, 2}), View(twice.data(), {1, 3, 2})}, {}),
      ErrorCode::kInvalidArgument, "output 0 overlaps input 0");
}

INSTANTIATE_TEST_SUITE_P(All, InPlaceTest, AllDevices(), NameOfDevice);

}  // namespace
}  // namespace onnx_cudnn
