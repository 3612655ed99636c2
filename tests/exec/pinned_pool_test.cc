#include "runtime/exec/pinned_pool.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/exec/executor.h"
#include "tests/exec/program_maker.h"
#include "tests/support/forwarding_device.h"

namespace onnx_cudnn {
namespace {

// Notes what is pinned, and grants no more than `most_bytes` at a time.
class PinningDevice final : public ForwardingDevice {
 public:
  PinningDevice() : ForwardingDevice(MakeCpuDevice({.like_a_gpu = true})) {}
  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) override {
    if (space == Space::kDevice || bytes == 0) return ForwardingDevice::Allocate(bytes, space);
    if (bytes_ + bytes > most_bytes) return absl::ResourceExhaustedError("no more is granted");
    absl::StatusOr<std::shared_ptr<std::byte>> block = ForwardingDevice::Allocate(bytes, space);
    if (!block.ok()) return block;
    bytes_ += bytes;
    pinned.push_back(bytes);
    std::byte* const data = block->get();
    return std::shared_ptr<std::byte>(
        data, [this, bytes, block = *std::move(block)](std::byte*) { bytes_ -= bytes; });
  }
  int64_t bytes() const { return bytes_; }

  std::vector<int64_t> pinned;  // what was asked for, in order
  int64_t most_bytes = 1 << 30;

 private:
  int64_t bytes_ = 0;
};
using Pinned = std::vector<int64_t>;

TEST(PinnedPoolTest, LendsABlockAgainToRunsThatFillHalfOfIt) {
  PinningDevice device;
  PinnedPool pool(device);
  pool.Admit(1000);
  for (const int64_t bytes : {1000, 1000, 500}) ASSERT_TRUE(pool.Borrow(bytes).ok());
  EXPECT_EQ(device.pinned, (Pinned{1000}));
  ASSERT_TRUE(pool.Borrow(499).ok());
  EXPECT_EQ(device.pinned, (Pinned{1000, 499}));
}

TEST(PinnedPoolTest, LendsTheSmallestBlockThatFits) {
  PinningDevice device;
  PinnedPool pool(device);
  pool.Admit(3000);
  {
    const auto large = *pool.Borrow(1900), small = *pool.Borrow(1000);
    EXPECT_NE(large, small);
  }
  const auto first = *pool.Borrow(1000);   // of 1000
  const auto second = *pool.Borrow(1900);  // of 1900
  EXPECT_EQ(device.pinned, (Pinned{1900, 1000}));
}

TEST(PinnedPoolTest, HoldsAtMostTwiceWhatItsExecutorsBorrow) {
  PinningDevice device;
  PinnedPool pool(device);
  pool.Admit(100);
  pool.Admit(400);
  for (const int64_t bytes : {100, 400, 150, 390}) ASSERT_TRUE(pool.Borrow(bytes).ok());
  EXPECT_EQ(pool.bytes(), 650);  // of 100, 400 and 150; 390 fill the second one
  ASSERT_TRUE(pool.Borrow(70).ok());
  ASSERT_TRUE(pool.Borrow(500).ok());
  EXPECT_EQ(pool.bytes(), 750);  // without 400, the largest
  EXPECT_EQ(device.bytes(), 750);
  pool.Dismiss(400);
  EXPECT_EQ(pool.bytes(), 100);
  pool.Dismiss(100);
  EXPECT_EQ(device.bytes(), 0);
}

TEST(PinnedPoolTest, WithExactBlocksHoldsWhatItsExecutorsBorrow) {
  PinningDevice device;
  PinnedPool pool(device, PinnedPool::Fit::kExact);
  pool.Admit(100);
  pool.Admit(160);
  for (int run = 0; run < 2; ++run) {
    const auto a = *pool.Borrow(160), b = *pool.Borrow(100);
    EXPECT_EQ(pool.bytes(), 260);
  }
  EXPECT_EQ(device.pinned, (Pinned{160, 100}));
  ASSERT_TRUE(pool.Borrow(90).ok());  // not of 100
  EXPECT_EQ(device.pinned, (Pinned{160, 100, 90}));
  EXPECT_EQ(pool.bytes(), 190);
}

TEST(PinnedPoolTest, FreesWhatItKeepsWhereNoMoreIsGranted) {
  PinningDevice device;
  device.most_bytes = 1000;
  PinnedPool pool(device);
  pool.Admit(1000);
  ASSERT_TRUE(pool.Borrow(300).ok());
  ASSERT_TRUE(pool.Borrow(800).ok());
  EXPECT_EQ(device.bytes(), 800);
  EXPECT_EQ(pool.Borrow(1001).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(pool.bytes(), 0);
  EXPECT_EQ(device.bytes(), 0);
}

// y = 2x.
std::unique_ptr<Executor> MakeExecutor(Device& device, ConstantStore& constants,
                                       const std::shared_ptr<PinnedPool>& pool) {
  ProgramMaker maker;
  const int x = maker.Input();
  maker.Output(maker.Add(Times(2), {x}));
  return *Executor::Create(std::move(maker).Make(1), device, constants, {.pinned = pool});
}

TEST(PinnedPoolTest, ExecutorsShareItAndItEndsWithThem) {
  PinningDevice device;
  ConstantStore constants(device);
  const auto pool = std::make_shared<PinnedPool>(device);
  {
    const auto first = MakeExecutor(device, constants, pool);
    const auto second = MakeExecutor(device, constants, pool);
    for (const float value : {1.0f, 2.0f, 3.0f}) {
      for (Executor* executor : {first.get(), second.get()}) {
        const Floats x(kElements, value);
        Floats y(kElements);
        ASSERT_TRUE(executor->Run({x.data()}, {y.data()}).ok());
        EXPECT_EQ(y, Floats(kElements, 2 * value));
      }
    }
    EXPECT_EQ(device.pinned, (Pinned{512}));  // x and y, 256 bytes each
    const Floats x(kElements);
    const auto y = *device.Allocate(kBytes, Space::kDevice);
    ASSERT_TRUE(first->Run({x.data()}, {y.get()}).ok());
    EXPECT_EQ(device.pinned, (Pinned{512}));  // of which x takes half
  }
  EXPECT_EQ(device.bytes(), 0);
}

TEST(PinnedPoolTest, AFailedRunGivesItsBlockBack) {
  class Failing final : public FormulaStep {
   public:
    Failing() : FormulaStep(Times(1), {}) {}
    absl::Status Launch(const LaunchArgs&) const override {
      return absl::InternalError("launch failed");
    }
  };
  PinningDevice device;
  ConstantStore constants(device);
  const auto pool = std::make_shared<PinnedPool>(device);
  ProgramMaker maker;
  maker.Output(maker.Add(std::make_shared<Failing>(), {maker.Input()}));
  const auto executor =
      *Executor::Create(std::move(maker).Make(1), device, constants, {.pinned = pool});
  const Floats x(kElements);
  Floats y(kElements);
  for (int run = 0; run < 2; ++run) EXPECT_FALSE(executor->Run({x.data()}, {y.data()}).ok());
  EXPECT_EQ(device.pinned, (Pinned{512}));
}

}  // namespace
}  // namespace onnx_cudnn
