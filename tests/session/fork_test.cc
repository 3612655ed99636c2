// Sessions in a process that was forked from the one that loaded them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "runtime/base/log.h"
#include "tests/session/shifted_relu.h"
#include "tests/support/hook_engine.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

// The exit code of a fork that runs `body`; -1: it hangs or crashes.
int InFork(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  for (int i = 0; i < 2000; ++i) {
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -1;
}

template <typename T>
bool IsForked(const Result<T>& result) {
  return !result.ok() && result.error().code == ErrorCode::kFailedPrecondition &&
         result.error().message.find("was forked") != std::string::npos;
}

TEST(ForkTest, CallsInTheForkAreErrors) {
  const Session session = LoadText(kShiftedRelu);
  const std::vector<float> x = Rows(2, 3);
  std::vector<float> y(8);
  Binding binding = session.Bind({View(x.data(), {2, 4})}, {View(y.data(), {2, 4})}).value();
  const std::string bytes = ModelBytesFromText(kShiftedRelu).value();
  EXPECT_EQ(InFork([&] {
              return IsForked(session.Run({View(x.data(), {2, 4})})) && IsForked(binding.Run()) &&
                     IsForked(session.OutputsFor({View(x.data(), {2, 4})})) &&
                     IsForked(Session::LoadBytes(bytes)) && session.inputs().size() == 1;
            }),
            0);
  EXPECT_EQ(Values(session.Run({View(x.data(), {2, 4})}).value()[0]), ShiftedRows(2, 3));
  ASSERT_TRUE(binding.Run().ok());
  EXPECT_EQ(y, ShiftedRows(2, 3));
}

// While another thread of the parent holds what a Run holds, and a worker program measures.
TEST(ForkTest, NothingWaitsForTheParentsThreadsOrTakesWhatIsTheirs) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a fork keeps the locks that other threads hold in AddressSanitizer's allocator";
#endif
  const TempFolder folder;
  const std::string job_name = folder.path("job");  // of the file that the worker reads
  std::atomic<bool> stop = false;
  Hooks hooks;
  hooks.launch = [&] { SetLogSink([](LogSeverity, std::string_view) {}); };
  const std::string worker =
      Worker(folder, absl::StrCat("echo \"$1\" >", job_name, "\nexec sleep 600\n"));
  std::optional<Session> session =
      SessionMaker::Make(
          kShiftedRelu, {.tune = TuneMode::kBackground, .tune_worker = worker},
          OpenedDevice{.device = MakeCpuDevice({.like_a_gpu = true}), .target = HookTarget(hooks)})
          .value();
  const std::vector<float> x = Rows(2, 3);
  const Session other = SessionMaker::Make(kShiftedRelu, {}).value();
  std::optional<Tensor> tensor = other.ToDevice(View(x.data(), {2, 4})).value();
  std::thread busy([&] {
    while (!stop) EXPECT_TRUE(session->Run({View(x.data(), {2, 4})}).ok());
  });
  std::string job;
  while (!std::getline(std::ifstream(job_name), job)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(InFork([&] {
                const bool is_error = IsForked(session->Run({View(x.data(), {2, 4})}));
                Log(LogSeverity::kInfo, "in the fork");
                tensor.reset();
                session.reset();
                return is_error;
              }),
              0);
  }
  stop = true;
  busy.join();
  EXPECT_TRUE(std::filesystem::exists(job)) << job;
  EXPECT_TRUE(session->Run({View(x.data(), {2, 4})}).ok());
  SetLogSink(nullptr);
}

}  // namespace
}  // namespace onnx_cudnn
