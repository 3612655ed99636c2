#include "runtime/session/open_device.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <thread>

#include "absl/synchronization/notification.h"
#include "tests/exec/watched_device.h"

namespace onnx_cudnn {
namespace {

TEST(OpeningDeviceTest, ADeviceIsOpenedByAnotherThreadAndCurrentForTheOneThatTakesIt) {
  absl::Notification loading;
  std::thread::id opener;
  const auto open = [&](const SessionOptions&,
                        const OnDeviceInfo&) -> absl::StatusOr<OpenedDevice> {
    loading.WaitForNotification();
    opener = std::this_thread::get_id();
    OpenedDevice opened{.ordinal = 3};
    opened.device = std::make_unique<WatchedDevice>();
    return opened;
  };
  const SessionOptions options;
  OpeningDevice opening(options, open);
  loading.Notify();  // the constructor did not wait for `open`
  const absl::StatusOr<OpenedDevice> opened = opening.Get();
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->ordinal, 3);
  EXPECT_NE(opener, std::this_thread::get_id());
  EXPECT_EQ(static_cast<const WatchedDevice&>(*opened->device).current_for,
            std::this_thread::get_id());
}

TEST(OpeningDeviceTest, AnErrorOfOpeningIsTheResult) {
  const auto open = [](const SessionOptions&, const OnDeviceInfo&) -> absl::StatusOr<OpenedDevice> {
    return absl::FailedPreconditionError("no usable GPU");
  };
  const SessionOptions options;
  OpeningDevice opening(options, open);
  EXPECT_FALSE(opening.Info().has_value());
  EXPECT_EQ(opening.Get().status().message(), "no usable GPU");
}

TEST(OpeningDeviceTest, WhatAGpuIsIsKnownBeforeItIsOpen) {
  absl::Notification optimized;
  const auto open = [&](const SessionOptions&,
                        const OnDeviceInfo& on_info) -> absl::StatusOr<OpenedDevice> {
    on_info({.name = "h200", .compute_capability = 90});
    optimized.WaitForNotification();
    OpenedDevice opened;
    opened.device = std::make_unique<WatchedDevice>();
    return opened;
  };
  const SessionOptions options;
  OpeningDevice opening(options, open);
  const std::optional<DeviceInfo> info =
      opening.Info();  // waits forever if it waits for the device
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->compute_capability, 90);
  optimized.Notify();
  EXPECT_TRUE(opening.Get().ok());
}

TEST(OpeningDeviceTest, AnExceptionOfOpeningIsNotWaitedForForever) {
  const auto open = [](const SessionOptions&, const OnDeviceInfo&) -> absl::StatusOr<OpenedDevice> {
    throw std::bad_alloc();
  };
  const SessionOptions options;
  OpeningDevice opening(options, open);
  EXPECT_FALSE(opening.Info().has_value());
  EXPECT_THROW((void)opening.Get(), std::bad_alloc);
}

}  // namespace
}  // namespace onnx_cudnn
