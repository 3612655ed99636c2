// dynamic_batch MODEL: serves batches of any size with few Programs. Each set of input shapes needs
// a Program of its own, so a batch is filled up to the next power of two. For a model with one
// input f32[N,...] whose other dims are numbers, and one output f32[N,...].
#include <cstdio>
#include <string>
#include <vector>

#include "onnx_cudnn/session.h"

namespace {

int Fail(const std::string& message) { return std::fprintf(stderr, "%s\n", message.c_str()), 1; }

int64_t NextPowerOfTwo(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

}  // namespace

int main(int argc, char** argv) {
  onnx_cudnn::SessionOptions options;
  options.max_programs = 8;  // batches 1, 2, 4 ... 128; the least recently used goes first
  auto session = onnx_cudnn::Session::Load(argc > 1 ? argv[1] : "model.onnx", options);
  if (!session.ok()) return Fail(session.error().message);
  const onnx_cudnn::ValueInfo& input = session.value().inputs()[0];
  std::vector<int64_t> shape;
  int64_t row = 1;
  for (const auto& dim : input.dims) {
    shape.push_back(dim.value);
    if (shape.size() > 1) row *= dim.value;
  }
  if (shape.empty() || shape[0] >= 0 || row < 0)
    return Fail("expected an input [N,...] with numbers after N, found " + ToString(input));

  for (const int64_t requests : {1, 3, 2, 5, 7, 6, 4, 8}) {
    shape[0] = NextPowerOfTwo(requests);
    std::vector<float> x(static_cast<size_t>(shape[0] * row));  // rows beyond the requests are zero
    for (int64_t i = 0; i < requests * row; ++i)
      x[static_cast<size_t>(i)] = static_cast<float>(i / row + 1);
    auto outputs = session.value().Run({onnx_cudnn::View(x.data(), shape)});
    if (!outputs.ok()) return Fail(outputs.error().message);
    const onnx_cudnn::Tensor& y = outputs.value()[0];
    const int64_t of_last = (requests - 1) * (y.elements() / shape[0]);
    std::printf("%d requests in a batch of %d: the last starts with %g\n",
                static_cast<int>(requests), static_cast<int>(shape[0]), y.data<float>()[of_last]);
  }
  std::printf("Programs built: %d\n", static_cast<int>(session.value().stats().programs_built));
  return 0;
}
