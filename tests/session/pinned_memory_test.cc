// Pinned memory of Sessions, on the CPU device that behaves like a GPU.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/forwarding_device.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

struct Pinned {
  std::atomic<int> blocks = 0;  // so far
  std::atomic<int64_t> bytes = 0;
};

class PinningDevice final : public ForwardingDevice {
 public:
  explicit PinningDevice(Pinned& pinned)
      : ForwardingDevice(MakeCpuDevice({.like_a_gpu = true})), pinned_(pinned) {}
  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) override {
    absl::StatusOr<std::shared_ptr<std::byte>> block = ForwardingDevice::Allocate(bytes, space);
    if (!block.ok() || space == Space::kDevice || bytes == 0) return block;
    ++pinned_.blocks;
    pinned_.bytes += bytes;
    std::byte* const data = block->get();
    return std::shared_ptr<std::byte>(data, [&pinned = pinned_, bytes, block = *std::move(block)](
                                                std::byte*) { pinned.bytes -= bytes; });
  }

 private:
  Pinned& pinned_;
};

class PinnedMemoryTest : public testing::Test {
 protected:
  Session Make(const SessionOptions& options) {
    OpenedDevice opened = SessionMaker::Open().value();
    opened.device = std::make_unique<PinningDevice>(pinned_);
    return SessionMaker::Make("g (float[N] x) => (float[N] y) { y = Relu(x) }", options,
                              std::move(opened))
        .value();
  }
  static void Run(const Session& session, int64_t elements) {
    const std::vector<float> x(elements, 2);
    Result<std::vector<Tensor>> outputs = session.Run({View(x.data(), {elements})});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ(outputs.value()[0].data<float>()[elements - 1], 2);
  }

  Pinned pinned_;
};

TEST_F(PinnedMemoryTest, ANewShapeThatFitsPinsNothing) {
  {
    const Session session = Make({});
    Run(session, 1024);
    EXPECT_EQ(pinned_.bytes, 2 * 4096);  // x and y
    for (const int64_t elements : {512, 640, 1024, 512}) Run(session, elements);
    EXPECT_EQ(pinned_.blocks, 1);
    Run(session, 64);  // too small to take so much
    EXPECT_EQ(pinned_.blocks, 2);
    EXPECT_EQ(pinned_.bytes, 2 * 4096 + 2 * 256);
  }
  EXPECT_EQ(pinned_.bytes, 0);
}

TEST_F(PinnedMemoryTest, ProgramsThatAreDroppedLeaveNothing) {
  const Session session = Make({.max_programs = 1});
  for (const int64_t elements : {64, 256, 1024, 256, 64}) {
    Run(session, elements);
    EXPECT_LE(pinned_.bytes, 2 * 2 * 4 * elements);
  }
}

// Then a Run gets no more than its Executor is counted with.
TEST_F(PinnedMemoryTest, WithALimitOfBytesEachShapePinsItsOwn) {
  const Session session = Make({.max_memory_bytes = 1 << 20});
  for (const int64_t elements : {1024, 512, 1024, 512}) Run(session, elements);
  EXPECT_EQ(pinned_.blocks, 2);
  EXPECT_EQ(pinned_.bytes, 2 * 4096 + 2 * 2048);
}

}  // namespace
}  // namespace onnx_cudnn
