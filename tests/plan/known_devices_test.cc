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

// The same chip under another name: the estimate is below the measured value, by at most a tenth.
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

TEST(KnownDevicesTest, WhatTheDriverDoesNotReportIsEstimated) {
  const DeviceInfo info = DeviceInfoOf({.product = "NVIDIA Bare", .compute_capability = 121});
  EXPECT_GT(info.f16_flops_per_us, 0);
  EXPECT_GT(info.bytes_per_us, 0);
}

// Code for an older architecture lacks what is guarded by a newer one: such a build has the kernels
// of the older GPU.
TEST(KnownDevicesTest, CodeOfAnOlderGenerationMakesALesserDevice) {
  DeviceProperties properties = PropertiesOfH200();
  EXPECT_EQ(DeviceInfoOf(properties).compute_capability, 90);
  EXPECT_TRUE(DeviceInfoOf(properties).runs_its_own_code);
  properties.has_sm_90a_code = false;
  EXPECT_FALSE(DeviceInfoOf(properties).runs_its_own_code);
  properties.code_capability = 80;
  const DeviceInfo info = DeviceInfoOf(properties);
  EXPECT_EQ(info.compute_capability, 80);
  EXPECT_EQ(info.name, "h200 as 8.0");
  EXPECT_EQ(info.f16_flops_per_us, H200().f16_flops_per_us);
}

// sm_86 runs code compiled for sm_80, and no kernel distinguishes them.
TEST(KnownDevicesTest, CodeOfTheSameGenerationIsItsOwn) {
  const DeviceInfo info = DeviceInfoOf({.product = "NVIDIA A10",
                                        .compute_capability = 86,
                                        .code_capability = 80,
                                        .multiprocessors = 72,
                                        .shared_bytes_per_block = 99 << 10});
  EXPECT_EQ(info.compute_capability, 86);
  EXPECT_EQ(info.name, "nvidia a10");
}

TEST(KnownDevicesTest, TheChipOfAMeasuredDeviceHasItsFits) {
  DeviceProperties properties = PropertiesOfH200();
  properties.product = "NVIDIA H100 80GB HBM3";
  const CudnnCalibration measured = H200().calibration.cudnn;
  EXPECT_EQ(DeviceInfoOf(properties).calibration.cudnn.traffic, measured.traffic);
  properties.compute_capability = 80;
  EXPECT_EQ(DeviceInfoOf(properties).calibration.cudnn.traffic, 1);
  EXPECT_NE(measured.traffic, 1);
}

TEST(KnownDevicesTest, PublishedPeaksAreDense) {
  for (const std::string_view name : PublishedDevices()) {
    const DeviceInfo info = *PublishedDevice(name);
    SCOPED_TRACE(name);
    EXPECT_NEAR(info.f16_flops_per_us / info.tf32_flops_per_us, 2, 0.02);
    EXPECT_GE(info.compute_capability, kOldestCapability);
    EXPECT_GE(info.shared_bytes_per_block, 99 << 10);
  }
  EXPECT_FALSE(PublishedDevice("h900").has_value());
}

}  // namespace
}  // namespace onnx_cudnn
