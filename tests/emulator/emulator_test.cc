// The emulator itself: kernels that are right, and those in which it must find what is wrong.
#include "tests/emulator/emulator.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/emulator/device.h"

namespace onnx_cudnn::emulator {
namespace {

struct Parameters {
  int* out;
  int count;
  int64_t unused[2];  // parameters have more than 16 bytes
};

int* Shared() { return static_cast<int*>(DynamicShared()); }

void Reverse(Parameters p) {
  WaitForLaunchBefore();
  const int thread = static_cast<int>(threadIdx.x);
  Shared()[thread] = thread;
  __syncthreads();
  p.out[thread] = Shared()[p.count - 1 - thread];
}

void ReverseWithoutBarrier(Parameters p) {
  WaitForLaunchBefore();
  const int thread = static_cast<int>(threadIdx.x);
  Shared()[thread] = thread;
  p.out[thread] = Shared()[p.count - 1 - thread];
}

void SumOfWarp(Parameters p) {
  WaitForLaunchBefore();
  const int thread = static_cast<int>(threadIdx.x);
  int sum = thread % 32;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  p.out[thread] = sum;
}

void FirstHalfMeets(Parameters p) {
  WaitForLaunchBefore();
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= p.count / 2) return;
  Shared()[thread] = thread;
  __syncthreads();
  p.out[thread] = Shared()[p.count / 2 - 1 - thread];
}

void WaitsForEver(Parameters p) {
  NamedBarrier(1, p.count + 1, /*waits=*/true);  // one more than there are
}

void OutsideOfItsMask(Parameters) { __shfl_sync(1u, 0, 0); }

// Each block of a cluster of two writes into the other one's memory.
void Neighbours(Parameters p) {
  WaitForLaunchBefore();
  const int rank = static_cast<int>(blockIdx.x) % 2;
  const uint32_t there = InBlock(SharedAddressOf(Shared()), 1 - rank);
  if (threadIdx.x == 0) *reinterpret_cast<int*>(AtShared(there)) = 100 + rank;
  SyncCluster();
  if (threadIdx.x == 0) p.out[blockIdx.x] = Shared()[0];
}

// One thread of each block but block 1.
void BlockOneDoesNotWait(Parameters) {
  if (threadIdx.x == 7 && blockIdx.x != 1) WaitForLaunchBefore();
}

struct Outcome {
  std::string error;
  std::vector<int> out;
};

template <typename Kernel>
Outcome Launch(Kernel kernel, int threads, Order order = Order::kForward, unsigned blocks = 1,
               int cluster = 1) {
  Outcome outcome{.out = std::vector<int>(threads, -1)};
  const Parameters parameters = {.out = outcome.out.data(), .count = threads};
  LaunchShape shape = {.shared_bytes = 4 * threads, .cluster = cluster};
  shape.grid.x = blocks;
  shape.block.x = static_cast<unsigned>(threads);
  outcome.error =
      Run(reinterpret_cast<const void*>(kernel), shape, &parameters, sizeof(parameters), order);
  return outcome;
}

std::vector<int> CountDownFrom(int first) {
  std::vector<int> values(first + 1);
  std::iota(values.rbegin(), values.rend(), 0);
  return values;
}

TEST(EmulatorTest, ThreadsMeetAtABarrier) {
  for (const Order order : {Order::kForward, Order::kBackward}) {
    const Outcome outcome = Launch(Reverse, 100, order);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.out, CountDownFrom(99));
  }
}

TEST(EmulatorTest, AMissingBarrierShowsBetweenTheOrders) {
  EXPECT_NE(Launch(ReverseWithoutBarrier, 64, Order::kForward).out,
            Launch(ReverseWithoutBarrier, 64, Order::kBackward).out);
}

TEST(EmulatorTest, LanesExchangeValues) {
  const Outcome outcome = Launch(SumOfWarp, 64);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.out, std::vector<int>(64, 31 * 32 / 2));
}

TEST(EmulatorTest, ThreadsThatAreDoneCountNoMore) {
  for (const Order order : {Order::kForward, Order::kBackward}) {
    const Outcome outcome = Launch(FirstHalfMeets, 64, order);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.out[0], 31);
    EXPECT_EQ(outcome.out[32], -1);
  }
}

TEST(EmulatorTest, BlocksOfAClusterSeeEachOther) {
  const Outcome outcome = Launch(Neighbours, 32, Order::kForward, /*blocks=*/4, /*cluster=*/2);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(std::vector<int>(outcome.out.begin(), outcome.out.begin() + 4),
            (std::vector<int>{101, 100, 101, 100}));
}

TEST(EmulatorTest, SaysWhatIsWrong) {
  EXPECT_EQ(Launch(WaitsForEver, 32).error, "its threads wait for each other for ever");
  EXPECT_EQ(Launch(OutsideOfItsMask, 32).error, "a lane outside of its own mask");
  EXPECT_EQ(Launch(Reverse, 32, Order::kForward, /*blocks=*/3, /*cluster=*/2).error,
            "the grid is no whole clusters");
}

TEST(EmulatorTest, EachBlockWaitsForTheLaunchBefore) {
  EXPECT_EQ(Launch(BlockOneDoesNotWait, 32, Order::kForward, /*blocks=*/1).error, "");
  EXPECT_EQ(Launch(BlockOneDoesNotWait, 32, Order::kForward, /*blocks=*/2).error,
            "a block did not wait for the launch before");
}

}  // namespace
}  // namespace onnx_cudnn::emulator
