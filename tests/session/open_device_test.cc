#include "runtime/session/open_device.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "runtime/exec/cpu_device.h"

namespace onnx_cudnn {
namespace {

// Remembers for which thread it is current.
class DeviceOfAThread final : public Device {
 public:
  std::string_view name() const override { return cpu_->name(); }
  const DeviceInfo& info() const override { return cpu_->info(); }
  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) override {
    return cpu_->Allocate(bytes, space);
  }
  absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& tensor,
                                                          Space space) override {
    return cpu_->Upload(tensor, space);
  }
  absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) override {
    return cpu_->CreateStreams(count);
  }
  absl::StatusOr<bool> ReadsDirectly(const void* data) override {
    return cpu_->ReadsDirectly(data);
  }
  absl::Status MakeCurrent() override {
    current_for = std::this_thread::get_id();
    return absl::OkStatus();
  }

  std::thread::id current_for;

 private:
  const std::unique_ptr<Device> cpu_ = MakeCpuDevice();
};

TEST(OpeningDeviceTest, ADeviceIsOpenedByAnotherThreadAndCurrentForTheOneThatTakesIt) {
  absl::Notification loading;
  std::thread::id opener;
  const auto open = [&](const SessionOptions&) -> absl::StatusOr<OpenedDevice> {
    loading.WaitForNotification();
    opener = std::this_thread::get_id();
    OpenedDevice opened{.ordinal = 3};
    opened.device = std::make_unique<DeviceOfAThread>();
    return opened;
  };
  const SessionOptions options;
  OpeningDevice opening(options, open);
  loading.Notify();  // the constructor did not wait for `open`
  const absl::StatusOr<OpenedDevice> opened = opening.Get();
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->ordinal, 3);
  EXPECT_NE(opener, std::this_thread::get_id());
  EXPECT_EQ(static_cast<const DeviceOfAThread&>(*opened->device).current_for,
            std::this_thread::get_id());
}

TEST(OpeningDeviceTest, AnErrorOfOpeningIsTheResult) {
  const auto open = [](const SessionOptions&) -> absl::StatusOr<OpenedDevice> {
    return absl::FailedPreconditionError("no usable GPU");
  };
  const SessionOptions options;
  EXPECT_EQ(OpeningDevice(options, open).Get().status().message(), "no usable GPU");
}

}  // namespace
}  // namespace onnx_cudnn
