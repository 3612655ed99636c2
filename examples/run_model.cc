// run_model MODEL: runs an ONNX model with one float input on zeros (symbolic dims taken as 1) and
// prints its first output.
#include <cstdio>

#include "onnx_cudnn/session.h"

int main(int argc, char** argv) {
  auto session = onnx_cudnn::Session::Load(argc > 1 ? argv[1] : "model.onnx");
  if (!session.ok()) return std::fprintf(stderr, "%s\n", session.error().message.c_str()), 1;

  std::vector<int64_t> shape;
  for (const auto& dim : session.value().inputs()[0].dims)
    shape.push_back(dim.value < 0 ? 1 : dim.value);
  auto input = onnx_cudnn::Tensor::Allocate(onnx_cudnn::DType::kF32, shape);
  if (!input.ok()) return std::fprintf(stderr, "%s\n", input.error().message.c_str()), 1;
  for (int64_t i = 0; i < input.value().elements(); ++i) input.value().data<float>()[i] = 0;

  auto outputs = session.value().Run({input.value().view()});
  if (!outputs.ok()) return std::fprintf(stderr, "%s\n", outputs.error().message.c_str()), 1;
  for (int64_t i = 0; i < outputs.value()[0].elements(); ++i)
    std::printf("%g\n", outputs.value()[0].data<float>()[i]);
  return 0;
}
