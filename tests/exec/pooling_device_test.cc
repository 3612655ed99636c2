#include "runtime/exec/pooling_device.h"

#include <gtest/gtest.h>

#include "tests/support/forwarding_device.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kBytes = 4096;

// A device with this much memory.
class SmallDevice final : public ForwardingDevice {
 public:
  explicit SmallDevice(int64_t bytes) : free_(bytes) {}
  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space) override {
    if (bytes > free_) return absl::ResourceExhaustedError("none left");
    ++allocations;
    free_ -= bytes;
    return std::shared_ptr<std::byte>(new std::byte[bytes], [this, bytes](std::byte* p) {
      free_ += bytes;
      delete[] p;
    });
  }
  absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& t, Space s) override {
    return Allocate(t.bytes(), s);
  }

  int64_t free() const { return free_; }
  int allocations = 0;

 private:
  int64_t free_;
};

TEST(PoolingDeviceTest, GivesFreedMemoryAgain) {
  SmallDevice device(100 * kBytes);
  PoolingDevice pool(device);
  for (const Space space : {Space::kDevice, Space::kHost}) {
    device.allocations = 0;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(pool.Allocate(kBytes, space).ok());
    EXPECT_EQ(device.allocations, 1);
    const auto a = pool.Allocate(kBytes, space), b = pool.Allocate(kBytes, space);
    EXPECT_NE(a->get(), b->get());
    EXPECT_EQ(device.allocations, 2);
  }
}

TEST(PoolingDeviceTest, LongerBlocksServeTheHostAlone) {
  SmallDevice device(100 * kBytes);
  PoolingDevice pool(device);
  for (const Space space : {Space::kDevice, Space::kHost}) {
    ASSERT_TRUE(pool.Allocate(kBytes, space).ok());
    device.allocations = 0;
    ASSERT_TRUE(pool.Allocate(kBytes / 2, space).ok());
    EXPECT_EQ(device.allocations, space == Space::kDevice ? 1 : 0);
    ASSERT_TRUE(pool.Allocate(kBytes / 4, space).ok());
    ASSERT_TRUE(pool.Allocate(kBytes + 1, space).ok());
    EXPECT_EQ(device.allocations, space == Space::kDevice ? 3 : 2);
  }
}

TEST(PoolingDeviceTest, FreesWhatItKeepsBeforeItIsExhausted) {
  SmallDevice device(3 * kBytes);
  PoolingDevice pool(device);
  ASSERT_TRUE(pool.Allocate(2 * kBytes, Space::kDevice).ok());
  EXPECT_EQ(device.free(), kBytes);
  const auto whole = pool.Allocate(3 * kBytes, Space::kDevice);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_TRUE(absl::IsResourceExhausted(pool.Allocate(1, Space::kDevice).status()));
}

TEST(PoolingDeviceTest, FreesWhatItKeepsForAnUpload) {
  SmallDevice device(kBytes);
  PoolingDevice pool(device);
  ASSERT_TRUE(pool.Allocate(kBytes, Space::kDevice).ok());
  EXPECT_TRUE(pool.Upload(HostTensor::Ints({{1, 2}}), Space::kDevice).ok());
}

TEST(PoolingDeviceTest, FreesWhenItIsToldAndAtItsEnd) {
  SmallDevice device(10 * kBytes);
  std::shared_ptr<std::byte> outlives;
  {
    PoolingDevice pool(device);
    ASSERT_TRUE(pool.Allocate(kBytes, Space::kDevice).ok());
    ASSERT_TRUE(pool.Allocate(kBytes, Space::kHost).ok());
    EXPECT_EQ(device.free(), 8 * kBytes);
    pool.FreeKept(Space::kDevice);
    EXPECT_EQ(device.free(), 9 * kBytes);
    outlives = *pool.Allocate(kBytes, Space::kDevice);
  }
  EXPECT_EQ(device.free(), 9 * kBytes);
  outlives.reset();
  EXPECT_EQ(device.free(), 10 * kBytes);
}

}  // namespace
}  // namespace onnx_cudnn
