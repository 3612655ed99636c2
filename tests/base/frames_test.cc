#include "runtime/base/frames.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/base/child_process.h"

namespace onnx_cudnn {
namespace {

class FramesTest : public ::testing::Test {
 protected:
  FramesTest() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    one_ = Descriptor(fds[0]);
    other_ = Descriptor(fds[1]);
  }

  Descriptor one_, other_;
};

TEST_F(FramesTest, TextsArriveWholeAndInOrder) {
  const std::string large(3 << 20, 'x');  // more than a socket buffers
  std::thread sender([&] {
    for (const std::string& text : {std::string("a\nb"), std::string(), large}) {
      EXPECT_TRUE(SendFrame(one_.get(), text).ok());
    }
  });
  for (const std::string& text : {std::string("a\nb"), std::string(), large}) {
    const absl::StatusOr<std::string> received = ReceiveFrame(other_.get());
    ASSERT_TRUE(received.ok()) << received.status();
    EXPECT_TRUE(*received == text);
  }
  sender.join();
}

TEST_F(FramesTest, ACutTextIsNone) {
  const uint64_t size = 10;
  ASSERT_EQ(write(one_.get(), &size, sizeof(size)), 8);
  ASSERT_EQ(write(one_.get(), "abc", 3), 3);
  one_ = Descriptor();
  EXPECT_EQ(ReceiveFrame(other_.get()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(SendFrame(other_.get(), "x").code(), absl::StatusCode::kUnavailable);  // no signal
}

TEST_F(FramesTest, AnAbsurdLengthIsRefused) {
  const uint64_t size = uint64_t{1} << 60;
  ASSERT_EQ(write(one_.get(), &size, sizeof(size)), 8);
  EXPECT_EQ(ReceiveFrame(other_.get()).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(FramesTest, AProgramAnswersOverItsStandardInput) {
  // `cat` copies what it hears from its standard input to itself, which is the socket.
  absl::StatusOr<ChildProcess> cat = ChildProcess::Connect({"/bin/sh", "-c", "exec cat >&0"});
  ASSERT_TRUE(cat.ok()) << cat.status();
  ASSERT_TRUE(SendFrame(cat->socket(), "echo").ok());
  const absl::StatusOr<std::string> received = ReceiveFrame(cat->socket());
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ(*received, "echo");
}

}  // namespace
}  // namespace onnx_cudnn
