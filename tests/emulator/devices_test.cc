// A Session over several GPUs that are not there.
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onnx_cudnn/session.h"
#include "tests/emulator/emulated_gpu.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

TEST(EmulatedDevicesTest, EachGpuOfAHostRunsAndALostOneIsLeftOut) {
  const std::string model =
      *ModelBytesFromText("g (float[4] x) => (float[4] y) { r = Relu(x) y = Add(r, x) }");
  const std::vector<float> x = {1, -2, 3, -4}, y = {2, -2, 6, -4};
  for (const int count : {2, 3, 8}) {
    for (const bool reruns : {false, true}) {
      FakeCudaOptions options = EmulatedGpu();
      options.devices = count;
      FakeCuda cuda(options);
      const Session session = Session::LoadBytes(model, {.device = DeviceChoice::kCuda,
                                                         .devices = {kAllDevices},
                                                         .rerun_if_lost = reruns})
                                  .value();
      for (int run = 0; run < 2 * count; ++run) {
        const Tensor output = session.Run({View(x.data(), {4})}).value()[0];
        EXPECT_EQ(std::vector<float>(output.data<float>(), output.data<float>() + 4), y);
      }
      cuda.LoseDevice(1);
      int failed = 0;
      for (int run = 0; run < 3 * count; ++run) {
        auto outputs = session.Run({View(x.data(), {4})});
        if (outputs.ok()) {
          EXPECT_EQ(outputs.value()[0].data<float>()[2], 6);
          continue;
        }
        ++failed;
        EXPECT_EQ(outputs.error().code, ErrorCode::kFailedPrecondition);
        EXPECT_TRUE(absl::StrContains(outputs.error().message, "the device is lost"));
      }
      EXPECT_EQ(failed, reruns ? 0 : 1);
      const std::vector<DeviceStats> devices = session.stats().devices;
      ASSERT_EQ(devices.size(), static_cast<size_t>(count));
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(devices[i].device.ordinal, i);
        EXPECT_EQ(devices[i].is_lost, i == 1);
        EXPECT_GE(devices[i].runs, i == 1 ? 3 : 4);
      }
    }
  }
}

TEST(EmulatedDevicesTest, AnInputOnTheOtherGpuIsCopiedFromThere) {
  const std::string model =
      *ModelBytesFromText("g (float[4] a, float[4] b) => (float[4] y) { y = Add(a, b) }");
  const std::vector<float> x = {1, -2, 3, -4};
  FakeCudaOptions options = EmulatedGpu();
  options.devices = 2;
  FakeCuda cuda(options);
  const Session session =
      Session::LoadBytes(model, {.device = DeviceChoice::kCuda, .devices = {kAllDevices}}).value();
  const auto on = [&](int ordinal) {
    return session.ToDevice(View(x.data(), {4}), {DeviceKind::kCuda, ordinal}).value();
  };
  const Tensor a = on(1), b = on(0);
  auto outputs = session.Run({a.view(), b.view()});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(outputs.value()[0].data<float>()[3], -8);
  EXPECT_EQ(cuda.direct_copies(), 1);
  EXPECT_EQ(session.stats().devices[1].runs, 1);
  const auto warm = session.WarmUp({a.view(), b.view()}, 2);
  EXPECT_TRUE(warm.ok()) << warm.error().message;
}

TEST(EmulatedDevicesTest, PaddedRunsStayOnTheirGpu) {
  const std::string model = *ModelBytesFromText("g (float[N] x) => (float[N] y) { y = Relu(x) }");
  const std::vector<float> x = {1, -2, 3};
  FakeCudaOptions options = EmulatedGpu();
  options.devices = 2;
  FakeCuda cuda(options);
  const Session session =
      Session::LoadBytes(model,
                         {.device = DeviceChoice::kCuda, .devices = {1}, .shape_buckets = {"all"}})
          .value();
  std::thread([&] {  // whose GPU is the first
    auto outputs = session.Run({View(x.data(), {3})});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ(outputs.value()[0].data<float>()[2], 3);
  })
      .join();
  EXPECT_EQ(cuda.held_bytes(0), 0);
  EXPECT_GT(cuda.held_bytes(1), 0);
}

// The limit of a Session is that of each of its GPUs.
TEST(EmulatedDevicesTest, EachGpuHoldsItsOwnWeightsAndLimit) {
  const std::vector<float> x(256, 1);
  const std::string model = *ModelBytesFromText(
      absl::StrCat("g (float[1,256] x) => (float[1,256] y) <float[256] w = {",
                   absl::StrJoin(x, ","), "}> { s = Softmax(x) y = Add(s, w) }"));
  FakeCudaOptions options = EmulatedGpu();
  options.devices = 2;
  FakeCuda cuda(options);
  // The bytes of the weights; nothing where a Run on one of the GPUs lacks memory.
  const auto weight_bytes = [&](std::vector<int> devices, int64_t limit) {
    const Session session =
        Session::LoadBytes(
            model, {.device = DeviceChoice::kCuda, .devices = devices, .max_memory_bytes = limit})
            .value();
    int64_t ran = 0;
    for (size_t i = 0; i < devices.size(); ++i) {
      auto outputs = session.Run({View(x.data(), {1, 256})});
      ran += outputs.ok();
      if (!outputs.ok()) {
        EXPECT_EQ(outputs.error().code, ErrorCode::kResourceExhausted);
      }
    }
    if (ran < std::ssize(devices)) return int64_t{0};
    for (const int device : devices) EXPECT_GE(cuda.held_bytes(device), 256 * 4);
    return session.stats().weight_bytes;
  };
  int64_t limit = 256;
  while (limit < int64_t{1} << 30 && weight_bytes({0}, limit) == 0) limit *= 2;
  EXPECT_GT(limit, 256 * 4);
  EXPECT_EQ(weight_bytes({0, 1}, limit), 2 * weight_bytes({0}, limit));
  EXPECT_EQ(weight_bytes({0, 1}, limit / 2), 0);
  EXPECT_EQ(cuda.held(), 0);
}

}  // namespace
}  // namespace onnx_cudnn
