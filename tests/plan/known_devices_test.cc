#include "runtime/plan/known_devices.h"

#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

DeviceProperties PropertiesOfH200() {
  const DeviceInfo h200 = H200();
  return {.product = "NVIDIA H200",
          .compute_capability = 90,
          .multiprocessors = h200.multiprocessors,
          .shared_bytes_per_block = h200.shared_bytes_per_block,
          .l2_bytes = h200.l2_bytes,
          .memory_bytes = h200.memory_bytes,
          .clock_mhz = 1980,
          .memory_clock_mhz = 3201,
          .memory_bus_bits = 6144};
}

TEST(KnownDevicesTest, AMeasuredDeviceHasItsRates) {
  const DeviceInfo info = DeviceInfoOf(PropertiesOfH200());
  EXPECT_EQ(info.name, "h200");
  EXPECT_EQ(info.bytes_per_us, H200().bytes_per_us);
}

// The same chip under another name: the estimate is below what was measured, by at most a tenth.
TEST(KnownDevicesTest, EstimatesAreCarefulAndNear) {
  DeviceProperties properties = PropertiesOfH200();
  properties.product = "NVIDIA Other";
  const DeviceInfo info = DeviceInfoOf(properties);
  EXPECT_EQ(info.name, "nvidia other");
  for (const auto rate : {&DeviceInfo::f16_flops_per_us, &DeviceInfo::tf32_flops_per_us,
                          &DeviceInfo::f32_flops_per_us, &DeviceInfo::bytes_per_us}) {
    EXPECT_LE(info.*rate, H200().*rate);
    EXPECT_GT(info.*rate, 0.85 * H200().*rate);
  }
}

TEST(KnownDevicesTest, WhatTheDriverDoesNotSayIsGuessed) {
  const DeviceInfo info = DeviceInfoOf({.product = "NVIDIA Bare", .compute_capability = 121});
  EXPECT_GT(info.f16_flops_per_us, 0);
  EXPECT_GT(info.bytes_per_us, 0);
}

}  // namespace
}  // namespace onnx_cudnn
