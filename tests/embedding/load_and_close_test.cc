// The library in programs that load it while they run.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

namespace onnx_cudnn {
namespace {

TEST(LoadAndCloseTest, StaysLoadedAndWorksAgain) {
  const int status = std::system(LOAD_AND_CLOSE);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace onnx_cudnn
