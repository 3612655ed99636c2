// batch MODEL: sixteen threads ask for one row each, many times; a Batcher joins their requests
// into few Runs. For a model with one input f32[N,...] whose other dims are numbers, and one output
// f32[N,...].
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "onnx_cudnn/batcher.h"

namespace {

constexpr int kThreads = 16, kRequests = 25;

int Fail(const std::string& message) { return std::fprintf(stderr, "%s\n", message.c_str()), 1; }

}  // namespace

int main(int argc, char** argv) {
  auto session = onnx_cudnn::Session::Load(argc > 1 ? argv[1] : "model.onnx");
  if (!session.ok()) return Fail(session.error().message);
  onnx_cudnn::BatcherOptions options;
  options.max_batch = 16;
  options.max_delay = std::chrono::milliseconds(2);
  auto batcher = onnx_cudnn::Batcher::Create(session.value(), options);
  if (!batcher.ok()) return Fail(batcher.error().message);
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (const auto& dim : session.value().inputs()[0].dims) {
    shape.push_back(shape.empty() ? 1 : dim.value);
    elements *= shape.back();
  }
  if (elements < 0) return Fail("expected numbers after the first dim");

  std::vector<std::string> last(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> row(static_cast<size_t>(elements), static_cast<float>(t));
      for (int request = 0; request < kRequests; ++request) {
        auto outputs = batcher.value().Run({onnx_cudnn::View(row.data(), shape)});
        if (!outputs.ok()) return void(last[t] = outputs.error().message);
        last[t] = std::to_string(outputs.value()[0].data<float>()[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (int t = 0; t < kThreads; ++t) std::printf("thread %d: %s\n", t, last[t].c_str());
  const onnx_cudnn::BatcherStats stats = batcher.value().stats();
  std::printf("%d requests, Runs: %d\n", static_cast<int>(stats.requests),
              static_cast<int>(stats.batches));
  return 0;
}
