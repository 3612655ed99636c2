// Buffers of requests in memory of a GPU, over a driver that is none: its memory is that of the
// host.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/triton/batch_memory.h"
#include "runtime/triton/device_copies.h"
#include "runtime/triton/instance.h"
#include "tests/triton/fake_triton.h"

namespace onnx_cudnn::triton {
namespace {

struct FakeDriver {
  int copies = 0, waits = 0, pushed = 0, contexts = 0, streams = 0, buffers = 0;
  int failing_allocation = 0;  // the error
} fake;

const char* const kTexts[] = {"no error", "invalid value", "out of memory"};

// Members are in the order of CudaCalls.
const CudaCalls kFakeCalls = {
    .init = [](unsigned) { return 0; },
    .device_get =
        [](int* device, int ordinal) {
          *device = ordinal;
          return ordinal < 2 ? 0 : 1;
        },
    .context_retain =
        [](CudaCalls::Handle* context, int) {
          *context = &fake;
          ++fake.contexts;
          return 0;
        },
    .context_release = [](int) { return --fake.contexts, 0; },
    .context_push = [](CudaCalls::Handle) { return ++fake.pushed, 0; },
    .context_pop = [](CudaCalls::Handle*) { return --fake.pushed, 0; },
    .allocate =
        [](CudaCalls::Address* address, size_t bytes) {
          if (fake.failing_allocation != 0) return fake.failing_allocation;
          *address = reinterpret_cast<CudaCalls::Address>(std::malloc(bytes));
          ++fake.buffers;
          return 0;
        },
    .free =
        [](CudaCalls::Address address) {
          std::free(reinterpret_cast<void*>(address));
          return --fake.buffers, 0;
        },
    .copy_async =
        [](CudaCalls::Address to, CudaCalls::Address from, size_t bytes, CudaCalls::Handle) {
          EXPECT_EQ(fake.pushed, 1);
          std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
          return ++fake.copies, 0;
        },
    .stream_create =
        [](CudaCalls::Handle* stream, unsigned) {
          *stream = &fake;
          return ++fake.streams, 0;
        },
    .stream_synchronize = [](CudaCalls::Handle) { return ++fake.waits, 0; },
    .stream_destroy = [](CudaCalls::Handle) { return --fake.streams, 0; },
    .error_string =
        [](int error, const char** text) {
          *text = kTexts[error];
          return 0;
        },
};

constexpr DeviceRef kHost, kGpu0 = {DeviceKind::kCuda, 0}, kGpu1 = {DeviceKind::kCuda, 1};

class TritonDeviceMemoryTest : public testing::Test {
 protected:
  TritonDeviceMemoryTest() {
    fake = {};
    copies_.emplace().UseCalls(kFakeCalls);
  }
  ~TritonDeviceMemoryTest() override {
    copies_.reset();
    EXPECT_EQ(fake.buffers, 0);
    EXPECT_EQ(fake.streams, 0);
    EXPECT_EQ(fake.contexts, 0);
    EXPECT_EQ(fake.pushed, 0);
  }
  std::optional<BatchCopies> copies_;
};

TEST_F(TritonDeviceMemoryTest, CopiesOfTheHostNeedNoDriver) {
  const std::string from = "abc";
  std::string to = "   ";
  ASSERT_TRUE(copies_->Copy(from.data(), kHost, to.data(), kHost, 3).ok());
  ASSERT_TRUE(copies_->Wait().ok());
  EXPECT_EQ(to, from);
  EXPECT_EQ(fake.contexts, 0);
}

TEST_F(TritonDeviceMemoryTest, CopiesAreEnqueuedAndWaitedForOnce) {
  const std::string from = "abcd";
  std::string to(4, ' ');
  ASSERT_TRUE(copies_->Copy(from.data(), kGpu0, to.data(), kHost, 2).ok());
  ASSERT_TRUE(copies_->Copy(from.data() + 2, kHost, to.data() + 2, kGpu1, 2).ok());
  ASSERT_TRUE(copies_->Copy(from.data(), kGpu1, to.data(), kGpu0, 0).ok());
  ASSERT_TRUE(copies_->Wait().ok());
  ASSERT_TRUE(copies_->Wait().ok());
  EXPECT_EQ(to, from);
  EXPECT_EQ(fake.copies, 2);
  EXPECT_EQ(fake.waits, 2);  // of two GPUs
  EXPECT_EQ(fake.contexts, 2);
}

TEST_F(TritonDeviceMemoryTest, BuffersGrowAndStay) {
  BatchBuffer buffer;
  void* const small = buffer.Get(8, kGpu0, *copies_).value();
  EXPECT_EQ(buffer.Get(4, kGpu0, *copies_).value(), small);
  EXPECT_EQ(fake.buffers, 1);
  ASSERT_TRUE(buffer.Get(80, kGpu0, *copies_).ok());
  EXPECT_EQ(fake.buffers, 1);
  void* const host = buffer.Get(3, kHost, *copies_).value();
  EXPECT_EQ(buffer.Get(0, kHost, *copies_).value(), host);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(host) % 16, 0u);
}

TEST_F(TritonDeviceMemoryTest, ErrorsSayTheCall) {
  const absl::Status gone = copies_->On(5).status();
  EXPECT_EQ(gone.message(), "cuDeviceGet: invalid value (1)");
  EXPECT_TRUE(absl::IsFailedPrecondition(gone));
  BatchBuffer buffer;
  fake.failing_allocation = 2;
  const absl::Status full = buffer.Get(8, kGpu0, *copies_).status();
  EXPECT_EQ(full.message(), "cuMemAlloc: out of memory (2)");
  EXPECT_TRUE(absl::IsResourceExhausted(full));
}

TEST_F(TritonDeviceMemoryTest, ASessionOnTheCpuTakesAndGivesMemoryOfAGpu) {
  FakeServer server;
  ASSERT_EQ(server.Load("g (float[N,2] x) => (float[N,2] y) { y = Add(x, x) }"), "");
  static_cast<Instance*>(server.instance_state())->copies().UseCalls(kFakeCalls);
  const std::vector<float> one = {1, 2}, two = {3, 4};
  float place[2] = {};
  TRITONBACKEND_Request first = RequestOf({{"x", {{1, 2}, one}}});
  first.inputs["x"].pieces[0].memory = TRITONSERVER_MEMORY_GPU;
  first.memory = TRITONSERVER_MEMORY_GPU;
  first.place = reinterpret_cast<char*>(place);
  TRITONBACKEND_Request alone = first;
  TRITONBACKEND_Request second = RequestOf({{"x", {{1, 2}, two}}});
  server.Execute({&alone});
  EXPECT_EQ(Values<float>(alone), std::vector<float>({2, 4}));
  EXPECT_EQ(fake.copies, 2);
  EXPECT_EQ(fake.waits, 2);
  server.Execute({&first, &second});
  EXPECT_EQ(Values<float>(first), std::vector<float>({2, 4}));
  EXPECT_EQ(Values<float>(second), std::vector<float>({6, 8}));
  EXPECT_EQ(fake.copies, 4);
}

}  // namespace
}  // namespace onnx_cudnn::triton
