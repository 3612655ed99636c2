// What lies in device memory is padded to buckets and cut there.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/session/on_devices.h"
#include "tests/support/forwarding_device.h"

namespace onnx_cudnn {
namespace {

using Floats = std::vector<float>;

// The bytes that copies took across the border of host memory.
struct Crossed {
  int64_t to_host = 0, to_device = 0;
};

// Host memory of a device that tells it from its own.
struct Border {
  std::map<const std::byte*, int64_t> host;
  Crossed crossed;

  bool IsHost(const void* data) const {
    const auto* at = static_cast<const std::byte*>(data);
    auto behind = host.upper_bound(at);
    if (behind == host.begin()) return false;
    const auto& [begin, bytes] = *std::prev(behind);
    return at < begin + bytes;
  }
  void Note(const void* to, const void* from, int64_t bytes) {
    if (IsHost(to) && !IsHost(from)) crossed.to_host += bytes;
    if (IsHost(from) && !IsHost(to)) crossed.to_device += bytes;
  }
};

class BorderStreams final : public ForwardingStreams {
 public:
  BorderStreams(std::unique_ptr<StreamSet> streams, std::shared_ptr<Border> border)
      : ForwardingStreams(std::move(streams)), border_(std::move(border)) {}
  absl::Status Copy(int s, void* to, const void* from, int64_t bytes) override {
    border_->Note(to, from, bytes);
    return ForwardingStreams::Copy(s, to, from, bytes);
  }

 private:
  const std::shared_ptr<Border> border_;
};

class BorderDevice final : public ForwardingDevice {
 public:
  explicit BorderDevice(std::shared_ptr<Border> border)
      : ForwardingDevice(MakeCpuDevice({.interleave_seed = 1, .like_a_gpu = true})),
        border_(std::move(border)) {}
  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) override {
    ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, ForwardingDevice::Allocate(bytes, space));
    if (space != Space::kHost) return memory;
    border_->host[memory.get()] = bytes;
    return std::shared_ptr<std::byte>(
        memory.get(), [memory, border = border_](std::byte* data) { border->host.erase(data); });
  }
  absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) override {
    ASSIGN_OR_RETURN(std::unique_ptr<StreamSet> streams, ForwardingDevice::CreateStreams(count));
    return std::make_unique<BorderStreams>(std::move(streams), border_);
  }

 private:
  const std::shared_ptr<Border> border_;
};

class PaddedOnDeviceTest : public testing::Test {
 protected:
  void Load(std::string_view text, std::vector<std::string> buckets) {
    OpenedDevice opened{.device = std::make_unique<BorderDevice>(border_)};
    opened.target = *MakeTarget("h200");
    absl::StatusOr<Session> session =
        SessionMaker::Make(text, {.shape_buckets = std::move(buckets)}, std::move(opened));
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = std::make_unique<Session>(*std::move(session));
  }
  const Session& session() const { return *session_; }
  Tensor OnDevice(const Floats& values, std::vector<int64_t> dims) const {
    return session().ToDevice(View(values.data(), std::move(dims))).value();
  }
  Floats OnHost(const Tensor& tensor) const {
    const Tensor host = session().ToHost(tensor).value();
    return {host.data<float>(), host.data<float>() + host.elements()};
  }
  // Since the last call.
  Crossed TakeCrossed() { return std::exchange(border_->crossed, {}); }

 private:
  const std::shared_ptr<Border> border_ = std::make_shared<Border>();
  std::unique_ptr<Session> session_;
};

// Heads of 3 elements each, padded to 16: not the first in memory.
constexpr std::string_view kCache = R"(
    g (float[1,2,N,2] past, float[1,2,1,2] new) => (float[1,2,M,2] present) {
      present = Concat<axis = 2>(past, new) })";
const Floats kPast = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, kNew = {-1, -2, -3, -4};
const Floats kPresent = {1, 2, 3, 4, 5, 6, -1, -2, 7, 8, 9, 10, 11, 12, -3, -4};
constexpr int64_t kPaddedOutputBytes = 2 * 17 * 2 * 4, kLengthBytes = 8;

TEST_F(PaddedOnDeviceTest, InputsAreNotReadByTheHost) {
  Load(kCache, {"all"});
  const Tensor past = OnDevice(kPast, {1, 2, 3, 2}), added = OnDevice(kNew, {1, 2, 1, 2});
  for (int run = 0; run < 3; ++run) {  // the second one is captured
    TakeCrossed();
    auto outputs = session().Run({past.view(), added.view()});
    const Crossed crossed = TakeCrossed();
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    ASSERT_EQ(outputs.value()[0].shape(), (std::vector<int64_t>{1, 2, 4, 2}));
    const float* present = outputs.value()[0].data<float>();
    EXPECT_EQ(Floats(present, present + 16), kPresent);
    EXPECT_LE(crossed.to_host, kPaddedOutputBytes);
    EXPECT_LE(crossed.to_device, kLengthBytes);
  }
  EXPECT_EQ(session().stats().padded_runs, 3);
}

TEST_F(PaddedOnDeviceTest, OutputsAreNotReadByTheHost) {
  Load(kCache, {"all"});
  const Tensor past = OnDevice(kPast, {1, 2, 3, 2}), added = OnDevice(kNew, {1, 2, 1, 2});
  const Tensor present = OnDevice(Floats(16, 0), {1, 2, 4, 2});
  TakeCrossed();
  auto ran = session().Run({past.view(), added.view()}, {present.view()});
  const Crossed crossed = TakeCrossed();
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_EQ(OnHost(present), kPresent);
  EXPECT_EQ(crossed.to_host, 0);
  EXPECT_LE(crossed.to_device, kLengthBytes);
}

TEST_F(PaddedOnDeviceTest, InputsInHostMemoryCross) {
  Load(kCache, {"all"});
  auto outputs = session().Run({View(kPast.data(), {1, 2, 3, 2}), View(kNew.data(), {1, 2, 1, 2})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_GE(TakeCrossed().to_device, 2 * 16 * 2 * 4);
}

// 300 of 600 indices of two coordinates: too many for a size, and padded behind each coordinate.
TEST_F(PaddedOnDeviceTest, FoundElementsAreNotReadByTheHost) {
  Load(R"(
      g (float[H,W] x) => (float[M] y) {
        at = NonZero(x)
        rows = Transpose<perm = [1, 0]>(at)
        z = GatherND(x, rows)
        y = Neg(z) })",
       {"found"});
  Floats x(600, 0), expected;
  for (int i = 0; i < 600; i += 2) {
    x[i] = static_cast<float>(i + 1);
    expected.push_back(-x[i]);
  }
  const Tensor on_device = OnDevice(x, {2, 300});
  TakeCrossed();
  auto outputs = session().Run({on_device.view()});
  const Crossed crossed = TakeCrossed();
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const Tensor& y = outputs.value()[0];
  EXPECT_EQ(Floats(y.data<float>(), y.data<float>() + y.elements()), expected);
  EXPECT_EQ(session().stats().padded_runs, 1);
  constexpr int64_t kIndexBytes = 2 * 300 * 8;
  EXPECT_LT(crossed.to_host, kIndexBytes);
  EXPECT_LT(crossed.to_device, kIndexBytes);
}

}  // namespace
}  // namespace onnx_cudnn
