// bind_cuda MODEL: runs a model on CUDA memory and a stream of this program, without copies and
// without waiting in between. For inputs and outputs of f32; symbolic dims are taken as 1.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "onnx_cudnn/session.h"

namespace {

int Fail(const std::string& message) { return std::fprintf(stderr, "%s\n", message.c_str()), 1; }

void Check(cudaError_t error) {
  if (error != cudaSuccess) std::exit(Fail(cudaGetErrorString(error)));
}

// Device memory for a value of the model.
onnx_cudnn::NamedView Allocate(const onnx_cudnn::ValueInfo& info, onnx_cudnn::DeviceRef device) {
  onnx_cudnn::TensorView view;
  view.dtype = info.dtype;
  view.device = device;
  size_t bytes = sizeof(float);
  for (const auto& dim : info.dims) {
    view.shape.push_back(dim.value < 0 ? 1 : dim.value);
    bytes *= static_cast<size_t>(view.shape.back());
  }
  Check(cudaMalloc(&view.data, bytes));
  Check(cudaMemset(view.data, 0, bytes));
  return {info.name, view};
}

}  // namespace

int main(int argc, char** argv) {
  auto session = onnx_cudnn::Session::Load(argc > 1 ? argv[1] : "model.onnx");
  if (!session.ok()) return Fail(session.error().message);
  if (session.value().device() != "cuda") {
    std::printf("skipped: %s\n", std::string(session.value().device_note()).c_str());
    return 0;
  }
  Check(cudaSetDevice(session.value().device_ref().ordinal));
  std::vector<onnx_cudnn::NamedView> inputs, outputs;
  for (const auto& info : session.value().inputs())
    inputs.push_back(Allocate(info, session.value().device_ref()));
  auto infos = session.value().OutputsFor(inputs);
  if (!infos.ok()) return Fail(infos.error().message);
  for (const auto& info : infos.value())
    outputs.push_back(Allocate(info, session.value().device_ref()));

  auto binding = session.value().Bind(inputs, outputs);
  if (!binding.ok()) return Fail(binding.error().message);
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreate(&stream));
  onnx_cudnn::RunOptions run;
  run.stream = stream;
  const float one = 1;
  float first = 0;
  for (int i = 0; i < 3; ++i) {  // the second Run is captured in a CUDA graph, the third replays it
    Check(cudaMemcpyAsync(inputs[0].view.data, &one, sizeof(one), cudaMemcpyHostToDevice, stream));
    if (auto ran = binding.value().Run(run); !ran.ok()) return Fail(ran.error().message);
    Check(cudaMemcpyAsync(&first, outputs[0].view.data, sizeof(first), cudaMemcpyDeviceToHost,
                          stream));
  }
  Check(cudaStreamSynchronize(stream));
  std::printf("the first element is %g\n", first);
  Check(cudaStreamDestroy(stream));
  for (const auto* views : {&inputs, &outputs})
    for (const auto& named : *views) Check(cudaFree(named.view.data));
  return 0;
}
