// embed MODEL MILLISECONDS: a program that stays in charge: it limits the threads, takes the
// messages, shows what takes long and ends a Run that lasts longer than MILLISECONDS. Inputs are
// f32 zeros; symbolic dims are taken as 1.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "onnx_cudnn/session.h"

namespace {

// Sets a flag after some time, unless it goes before.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds time) : thread_([this, time] { Wait(time); }) {}
  ~Deadline() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  const std::atomic<bool>* passed() const { return &passed_; }

 private:
  void Wait(std::chrono::milliseconds time) {
    std::unique_lock<std::mutex> lock(mutex_);
    passed_ = !wake_.wait_for(lock, time, [this] { return done_; });
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::atomic<bool> passed_{false};
  std::thread thread_;  // last member, because it uses the others
};

int Fail(const std::string& message) { return std::fprintf(stderr, "%s\n", message.c_str()), 1; }

bool Show(const onnx_cudnn::Progress& progress) {
  static const char* const kStages[] = {"loading", "optimizing", "building", "tuning"};
  if (progress.done == progress.total)
    std::printf("%s: done\n", kStages[static_cast<int>(progress.stage)]);
  return true;  // false would cancel
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return Fail("usage: embed MODEL MILLISECONDS");
  onnx_cudnn::SetLogSink([](onnx_cudnn::LogSeverity, std::string_view message) {
    std::printf("log: %s\n", std::string(message).c_str());
  });
  onnx_cudnn::SessionOptions options;
  options.threads = 2;
  options.progress = Show;
  auto session = onnx_cudnn::Session::Load(argv[1], options);
  if (!session.ok()) return Fail(session.error().message);

  std::vector<onnx_cudnn::Tensor> zeros;
  std::vector<onnx_cudnn::NamedView> inputs;
  for (const auto& info : session.value().inputs()) {
    std::vector<int64_t> shape;
    for (const auto& dim : info.dims) shape.push_back(dim.value < 0 ? 1 : dim.value);
    auto tensor = onnx_cudnn::Tensor::Allocate(onnx_cudnn::DType::kF32, shape);
    if (!tensor.ok()) return Fail(tensor.error().message);
    std::fill_n(tensor.value().data<float>(), tensor.value().elements(), 0.0f);
    zeros.push_back(tensor.value());
    inputs.emplace_back(info.name, zeros.back().view());
  }
  const Deadline deadline{std::chrono::milliseconds(std::atoi(argv[2]))};
  onnx_cudnn::RunOptions run;
  run.cancel = deadline.passed();
  auto outputs = session.value().Run(inputs, run);
  if (!outputs.ok() && outputs.error().code == onnx_cudnn::ErrorCode::kCancelled)
    return std::printf("the run took too long\n"), 0;
  if (!outputs.ok()) return Fail(outputs.error().message);
  std::printf("the run ended in time\n");
  return 0;
}
