// SessionOptions::threads, and the threads that the library starts: each test is a process of its
// own, which counts them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "onnx_cudnn/session.h"
#include "tests/c_api/model_bytes.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kN = 384;

// Products, which OpenBLAS computes, and ops that it does not.
std::string Products() {
  BuiltModel model{.inputs = {{"x", 1, {"N", "N"}}}, .outputs = {{"y", 1, {"N", "N"}}}};
  std::string last = "x";
  for (int i = 0; i < 8; ++i) {
    const std::string product = "p" + std::to_string(i), next = "t" + std::to_string(i);
    model.nodes.push_back({"MatMul", "", {last, "x"}, {product}});
    model.nodes.push_back({"Tanh", "", {product}, {next}});
    last = next;
  }
  model.nodes.push_back({"Softmax", "", {last}, {"y"}});
  return BytesOf(model);
}

Session Load(int threads) {
  return Session::LoadBytes(Products(), {.device = DeviceChoice::kCpu, .threads = threads}).value();
}

void RunOften(const Session& session, int runs) {
  const std::vector<float> x(kN * kN, 0.01f);
  for (int i = 0; i < runs; ++i) session.Run({View(x.data(), {kN, kN})}).value();
}

int Threads() {  // of this process
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

double Seconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// CPU time of all other threads as a share of this one's during some Runs.
double OthersShare(const Session& session) {
  const double all = Seconds(CLOCK_PROCESS_CPUTIME_ID), own = Seconds(CLOCK_THREAD_CPUTIME_ID);
  RunOften(session, 20);
  const double spent = Seconds(CLOCK_THREAD_CPUTIME_ID) - own;
  return (Seconds(CLOCK_PROCESS_CPUTIME_ID) - all - spent) / spent;
}

class ThreadsDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer has a thread of its own";
#endif
    if (cores_ < 2) GTEST_SKIP() << "one core: there is nothing to limit";
  }
  const int cores_ = static_cast<int>(std::thread::hardware_concurrency());
};

// Ends the process of a test: with 0 if `ok`.
[[noreturn]] void End(bool ok) {
  std::cerr << Threads() << " threads" << std::endl;
  std::exit(ok ? 0 : 1);
}

[[noreturn]] void RunOnOne() {
  const Session session = Load(1);
  const double share = OthersShare(session);
  std::cerr << "others: " << share << ", ";
  End(Threads() == 1 && share < 0.05);
}

[[noreturn]] void RunOnOneTwoAndAll(int cores) {
  const Session one = Load(1), two = Load(2), all = Load(0);
  const double ones = OthersShare(one);
  const double twos = OthersShare(two);
  const double of_all = OthersShare(all);
  const double again = OthersShare(one);
  std::cerr << "others: " << ones << " " << twos << " " << of_all << " " << again << ", ";
  End(ones < 0.05 && again < 0.05 && twos > 0.05 && twos < 1.5 && of_all > 0.05 &&
      Threads() == cores);
}

[[noreturn]] void RunOnThreeThreads() {
  const Session session = Load(1);
  std::atomic<int> left = 3;
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      RunOften(session, 10);
      --left;
    });
  }
  int most = 0;
  while (left > 0) most = std::max(most, Threads());
  for (std::thread& caller : callers) caller.join();
  std::cerr << "at most " << most << ", ";
  End(most <= 4 && Threads() == 1);
}

const testing::ExitedWithCode kWell(0);

TEST_F(ThreadsDeathTest, TheLibraryStartsNoneByItself) {
  EXPECT_EXIT(End(Threads() == 1), kWell, "");
}

TEST_F(ThreadsDeathTest, OneIsTheCallersAlone) { EXPECT_EXIT(RunOnOne(), kWell, ""); }

TEST_F(ThreadsDeathTest, EachSessionKeepsToItsOwnNumber) {
  EXPECT_EXIT(RunOnOneTwoAndAll(cores_), kWell, "");
}

TEST_F(ThreadsDeathTest, ConcurrentRunsOfOneThreadEachStartNoOther) {
  EXPECT_EXIT(RunOnThreeThreads(), kWell, "");
}

}  // namespace
}  // namespace onnx_cudnn
