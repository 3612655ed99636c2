// consumer MODEL: loads a model with one f32 input, runs it on zeros and prints the first element
// of its output.
#include <cstdio>
#include <vector>

#include "onnx_cudnn.h"
#include "onnx_cudnn/session.h"

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  auto session = onnx_cudnn::Session::Load(argv[1]);
  if (!session.ok()) return std::fprintf(stderr, "%s\n", session.error().message.c_str()), 1;
  std::vector<int64_t> shape;
  for (const auto& dim : session.value().inputs()[0].dims) {
    shape.push_back(dim.value < 0 ? 1 : dim.value);
  }
  auto input = onnx_cudnn::Tensor::Allocate(onnx_cudnn::DType::kF32, shape);
  if (!input.ok()) return 1;
  for (int64_t i = 0; i < input.value().elements(); ++i) input.value().data<float>()[i] = 0;
  auto outputs = session.value().Run({input.value().view()});
  if (!outputs.ok()) return std::fprintf(stderr, "%s\n", outputs.error().message.c_str()), 1;
  std::printf("%s %ld %s %g\n", onnx_cudnn_version(), __cplusplus,
              onnx_cudnn::ToString(session.value().outputs()[0]).c_str(),
              outputs.value()[0].data<float>()[0]);
  return 0;
}
