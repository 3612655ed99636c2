// serve MODEL: builds the Program of a model once and runs it from four threads, each with inputs
// of its own. The inputs are u8 or f16; symbolic dims are taken as 1.
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "onnx_cudnn/session.h"

namespace {

using onnx_cudnn::DType;

constexpr int kThreads = 4, kRequests = 25;
constexpr uint16_t kHalfOne = 0x3c00;  // 1 in f16, which C++17 has no type for

int Fail(const std::string& message) { return std::fprintf(stderr, "%s\n", message.c_str()), 1; }

// The bytes of one input: f16 ones, or u8 that all are `pixel`.
std::vector<uint8_t> BytesOf(const onnx_cudnn::TensorView& view, uint8_t pixel) {
  size_t elements = 1;
  for (const int64_t dim : view.shape) elements *= static_cast<size_t>(dim);
  if (view.dtype == DType::kU8) return std::vector<uint8_t>(elements, pixel);
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < elements; ++i) bytes.insert(bytes.end(), {kHalfOne & 0xff, kHalfOne >> 8});
  return bytes;
}

// Runs requests one after the other; the first error, or the first element of the last output.
std::string Serve(const onnx_cudnn::Session& session, uint8_t pixel) {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<onnx_cudnn::NamedView> inputs;
  for (const onnx_cudnn::ValueInfo& info : session.inputs()) {
    onnx_cudnn::TensorView view;
    view.dtype = info.dtype;
    for (const auto& dim : info.dims) view.shape.push_back(dim.value < 0 ? 1 : dim.value);
    bytes.push_back(BytesOf(view, pixel));
    view.data = bytes.back().data();
    inputs.emplace_back(info.name, view);
  }
  std::string last;
  for (int request = 0; request < kRequests; ++request) {
    auto outputs = session.Run(inputs);  // any number of threads may call it
    if (!outputs.ok()) return outputs.error().message;
    const onnx_cudnn::Tensor& y = outputs.value()[0];
    last = y.dtype() == DType::kF32 ? std::to_string(y.data<float>()[0])
                                    : ToString(session.outputs()[0]);
  }
  return last;
}

}  // namespace

int main(int argc, char** argv) {
  onnx_cudnn::SessionOptions options;
  options.max_executors_per_program = kThreads;  // each has an arena of its own
  auto session = onnx_cudnn::Session::Load(argc > 1 ? argv[1] : "model.onnx", options);
  if (!session.ok()) return Fail(session.error().message);
  for (const auto& info : session.value().inputs())
    if (info.dtype != DType::kU8 && info.dtype != DType::kF16)
      return Fail("expected inputs of u8 and f16, found " + ToString(info));

  std::vector<std::string> last(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back(
        [&, t] { last[t] = Serve(session.value(), static_cast<uint8_t>(51 * t)); });
  for (std::thread& thread : threads) thread.join();

  for (int t = 0; t < kThreads; ++t) std::printf("thread %d: %s\n", t, last[t].c_str());
  std::printf("%d requests, Programs built: %d\n", kThreads * kRequests,
              static_cast<int>(session.value().stats().programs_built));
  return 0;
}
