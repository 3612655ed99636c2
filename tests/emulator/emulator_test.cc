// The emulator itself: correct kernels, and kernels with errors that it must detect.
#include "tests/emulator/emulator.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/emulator/cluster.cuh"
#include "tests/emulator/device.h"
#include "tests/emulator/wgmma.cuh"

namespace onnx_cudnn::emulator {
namespace {

struct Parameters {
  int* out;
  int count;
  const int* in = nullptr;  // `count` numbers from 0 on
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

// Each block of a cluster of two writes to the other block's shared memory.
void Neighbours(Parameters p) {
  WaitForLaunchBefore();
  const int rank = static_cast<int>(blockIdx.x) % 2;
  const uint32_t there = InBlock(SharedAddressOf(Shared()), 1 - rank);
  if (threadIdx.x == 0) *reinterpret_cast<int*>(AtShared(there)) = 100 + rank;
  ArriveAtCluster();
  WaitForCluster();
  if (threadIdx.x == 0) p.out[blockIdx.x] = Shared()[0];
}

// One thread of each block but block 1.
void BlockOneDoesNotWait(Parameters) {
  if (threadIdx.x == 7 && blockIdx.x != 1) WaitForLaunchBefore();
}

// Kernels that start asynchronous work. kWaits: with all waits; otherwise one wait is missing.
template <bool kWaits>
void CopyByThreads(Parameters p) {
  WaitForLaunchBefore();
  const int thread = static_cast<int>(threadIdx.x);
  ptx::cp_async_ca_shared_global(4 * thread, p.in + thread, 4);
  ptx::cp_async_commit_group();
  if (kWaits) ptx::cp_async_wait_group(0);
  p.out[thread] = Shared()[thread];
  ptx::cp_async_wait_all();
}

// Each thread waits only for its own copies.
template <bool kMeets>
void CopyByNeighbours(Parameters p) {
  WaitForLaunchBefore();
  const int thread = static_cast<int>(threadIdx.x);
  ptx::cp_async_ca_shared_global(4 * thread, p.in + thread, 4);
  ptx::cp_async_wait_all();
  if (kMeets) __syncthreads();
  p.out[thread] = Shared()[p.count - 1 - thread];
}

constexpr uint32_t kBarrier = 2048;  // behind what the tests' kernels share

template <bool kWaits>
void LoadByBarrier(Parameters p) {
  WaitForLaunchBefore();
  const int thread = static_cast<int>(threadIdx.x), bytes = 4 * p.count;
  if (thread == 0) {
    ptx::mbarrier_init_shared_cta_b64(kBarrier, 1);
    ptx::mbarrier_arrive_expect_tx_shared_cta_b64(kBarrier, bytes);
    ptx::cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(0, p.in, bytes, kBarrier);
  }
  __syncthreads();
  if (kWaits) ptx::mbarrier_try_wait_parity_shared_cta_b64(kBarrier, 0);
  p.out[thread] = Shared()[thread];
}

// Overwrites the source of a store after the store has read it.
template <bool kWaits>
void StoreBeforeOverwriting(Parameters p) {
  WaitForLaunchBefore();
  if (threadIdx.x != 0) return;
  for (int i = 0; i < p.count; ++i) Shared()[i] = i;
  StartStore(
      [&] { return std::vector<std::byte>(AtShared(0), AtShared(4 * p.count)); },
      [&](const std::vector<std::byte>& bytes) { std::memcpy(p.out, bytes.data(), bytes.size()); });
  ptx::cp_async_bulk_commit_group();
  if (kWaits) ptx::cp_async_bulk_wait_group_read(0);
  Shared()[0] = 77;
  ptx::cp_async_bulk_wait_group(0);
}

void EndBeforeStores(Parameters p) {
  WaitForLaunchBefore();
  StartStore([] { return std::vector<std::byte>(4); },
             [p](const std::vector<std::byte>& bytes) { std::memcpy(p.out, bytes.data(), 4); });
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group_read(0);
}

// A warpgroup's sum over sixteen ones from each operand.
template <bool kWaits, bool kFences>
void Multiply(Parameters p) {
  WaitForLaunchBefore();
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < 1024; i += p.count)
    reinterpret_cast<__half*>(Shared())[i] = __half(1.0F);
  __syncthreads();
  float sums[4] = {};
  if (kFences) WgmmaFence();
  Wgmma(__half(), sums, make_uint4(0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00), 8 << 16, 0);
  WgmmaCommit();
  if (kWaits) WgmmaWait<0>(sums);
  p.out[thread] = sums[0] == 16 ? 1 : 0;
  if (!kWaits) WgmmaWait<0>(sums);
}

// Each block of a cluster of two sends its rank to the other one.
template <bool kMeets>
void SendRank(Parameters p) {
  WaitForLaunchBefore();
  const int rank = static_cast<int>(blockIdx.x) % 2;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init_shared_cta_b64(kBarrier, 1);
    ptx::mbarrier_arrive_expect_tx_shared_cta_b64(kBarrier, 16);
  }
  ClusterArrive();
  if (kMeets) ClusterWait();
  if (threadIdx.x != 0) return;
  Send(AddressIn(0, 1 - rank), AddressIn(kBarrier, 1 - rank), {static_cast<float>(rank), 0, 0, 0});
  ClusterBarrierWait(kBarrier, 0);
  p.out[blockIdx.x] = static_cast<int>(*reinterpret_cast<float*>(Shared()));
}

struct Outcome {
  std::string error;
  std::vector<int> out;
};

template <typename Kernel>
Outcome Launch(Kernel kernel, int threads, const Schedule& schedule = {}, unsigned blocks = 1,
               int cluster = 1) {
  Outcome outcome{.out = std::vector<int>(threads, -1)};
  std::vector<int> in(threads);
  std::iota(in.begin(), in.end(), 0);
  const Parameters parameters = {.out = outcome.out.data(), .count = threads, .in = in.data()};
  LaunchShape shape = {.shared_bytes = kBarrier + 8, .cluster = cluster};
  shape.grid.x = blocks;
  shape.block.x = static_cast<unsigned>(threads);
  outcome.error =
      Run(reinterpret_cast<const void*>(kernel), shape, &parameters, sizeof(parameters), schedule);
  return outcome;
}

std::vector<int> CountDownFrom(int first) {
  std::vector<int> values(first + 1);
  std::iota(values.rbegin(), values.rend(), 0);
  return values;
}

TEST(EmulatorTest, ThreadsMeetAtABarrier) {
  for (const Order order : {Order::kForward, Order::kBackward}) {
    const Outcome outcome = Launch(Reverse, 100, {order});
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.out, CountDownFrom(99));
  }
}

TEST(EmulatorTest, AMissingBarrierShowsBetweenTheOrders) {
  EXPECT_NE(Launch(ReverseWithoutBarrier, 64, {Order::kForward}).out,
            Launch(ReverseWithoutBarrier, 64, {Order::kBackward}).out);
}

TEST(EmulatorTest, LanesExchangeValues) {
  const Outcome outcome = Launch(SumOfWarp, 64);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.out, std::vector<int>(64, 31 * 32 / 2));
}

TEST(EmulatorTest, ThreadsThatAreDoneCountNoMore) {
  for (const Order order : {Order::kForward, Order::kBackward}) {
    const Outcome outcome = Launch(FirstHalfMeets, 64, {order});
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.out[0], 31);
    EXPECT_EQ(outcome.out[32], -1);
  }
}

TEST(EmulatorTest, BlocksOfAClusterSeeEachOther) {
  const Outcome outcome = Launch(Neighbours, 32, {}, /*blocks=*/4, /*cluster=*/2);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(std::vector<int>(outcome.out.begin(), outcome.out.begin() + 4),
            (std::vector<int>{101, 100, 101, 100}));
}

TEST(EmulatorTest, SaysWhatIsWrong) {
  EXPECT_EQ(Launch(WaitsForEver, 32).error, "its threads wait for each other for ever");
  EXPECT_EQ(Launch(OutsideOfItsMask, 32).error, "a lane outside of its own mask");
  EXPECT_EQ(Launch(Reverse, 32, {}, /*blocks=*/3, /*cluster=*/2).error,
            "the grid is no whole clusters");
}

TEST(EmulatorTest, EachBlockWaitsForTheLaunchBefore) {
  EXPECT_EQ(Launch(BlockOneDoesNotWait, 32, {}, /*blocks=*/1).error, "");
  EXPECT_EQ(Launch(BlockOneDoesNotWait, 32, {}, /*blocks=*/2).error,
            "a block did not wait for the launch before");
}

std::vector<int> CountUpTo(int last) {
  std::vector<int> values = CountDownFrom(last);
  std::reverse(values.begin(), values.end());
  return values;
}

// In every order of threads and arrivals at barriers.
template <typename Kernel>
void ExpectAlways(Kernel kernel, int threads, const std::vector<int>& expected,
                  unsigned blocks = 1) {
  for (const Order order : {Order::kForward, Order::kBackward}) {
    for (const Schedule& schedule :
         {Schedule{order, Arrival::kLate}, Schedule{order, Arrival::kAtOnce},
          Schedule{order, Arrival::kSeeded, 1}, Schedule{order, Arrival::kSeeded, 2}}) {
      Outcome outcome = Launch(kernel, threads, schedule, blocks, static_cast<int>(blocks));
      outcome.out.resize(expected.size());
      EXPECT_EQ(outcome.error, "");
      EXPECT_EQ(outcome.out, expected);
    }
  }
}

TEST(AsyncWorkTest, IsDoneWhereItIsWaitedFor) {
  ExpectAlways(CopyByThreads<true>, 64, CountUpTo(63));
  ExpectAlways(CopyByNeighbours<true>, 64, CountDownFrom(63));
  ExpectAlways(LoadByBarrier<true>, 64, CountUpTo(63));
  ExpectAlways(StoreBeforeOverwriting<true>, 64, CountUpTo(63));
  ExpectAlways(Multiply<true, true>, 128, std::vector<int>(128, 1));
  ExpectAlways(SendRank<true>, 2, {1, 0}, /*blocks=*/2);
}

TEST(AsyncWorkTest, AMissingWaitShows) {
  EXPECT_EQ(Launch(CopyByThreads<false>, 64).out, std::vector<int>(64, -1));
  EXPECT_NE(Launch(CopyByNeighbours<false>, 64).out, CountDownFrom(63));
  EXPECT_EQ(Launch(LoadByBarrier<false>, 64).out, std::vector<int>(64, -1));
  EXPECT_EQ(Launch(StoreBeforeOverwriting<false>, 64).out[0], 77);
  EXPECT_EQ(Launch(Multiply<false, true>, 128).out, std::vector<int>(128, 0));
}

TEST(AsyncWorkTest, WorkWithoutAWaitIsAnError) {
  EXPECT_EQ(Launch(LoadByBarrier<false>, 64).error, "a block ended before what it loads was there");
  EXPECT_EQ(Launch(EndBeforeStores, 1).error,
            "a thread ended before its copies, stores and products were done");
}

TEST(AsyncWorkTest, ProductsNeedAFence) {
  EXPECT_EQ(Launch(Multiply<true, false>, 128).error, "a product without a fence");
}

TEST(AsyncWorkTest, SendingToABlockThatHasNotStartedIsAnError) {
  for (const Order order : {Order::kForward, Order::kBackward}) {
    EXPECT_EQ(Launch(SendRank<false>, 2, {order}, /*blocks=*/2, /*cluster=*/2).error,
              "a barrier that nobody has made yet");
  }
}

}  // namespace
}  // namespace onnx_cudnn::emulator
