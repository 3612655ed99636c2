// A user's C++17 program: compiled, never run.
#include <atomic>
#include <string>
#include <vector>

#include "onnx_cudnn/session.h"

namespace {

onnx_cudnn::SessionOptions Options() {
  onnx_cudnn::SessionOptions options;
  options.device = onnx_cudnn::DeviceChoice::kCuda;
  options.device_ordinal = 1;
  options.devices = {onnx_cudnn::kAllDevices};
  options.threads = 4;
  options.pins = "forbid * conv1\n";
  options.progress = [](const onnx_cudnn::Progress& progress) {
    return progress.stage != onnx_cudnn::ProgressStage::kTuning || progress.done < 9;
  };
  return options;
}

int RunBoundTensors(const onnx_cudnn::Session& session) {
  std::vector<float> x(4), y(4);
  auto binding =
      session.Bind({{"x", onnx_cudnn::View(x.data(), {4})}}, {onnx_cudnn::View(y.data(), {4})});
  if (!binding.ok()) return 1;
  const std::atomic<bool> cancel{false};
  onnx_cudnn::RunOptions options;
  options.cancel = &cancel;
  return binding.value().Run(options).ok() ? 0 : 1;
}

int RunValues(const onnx_cudnn::Session& session) {
  auto tensor = onnx_cudnn::Tensor::Allocate(onnx_cudnn::DType::kI64, {2});
  if (!tensor.ok() || tensor.value().device() != onnx_cudnn::DeviceRef()) return 1;
  const auto list = onnx_cudnn::ModelValue::Sequence({tensor.value(), tensor.value()});
  auto outputs = session.RunValues({{"xs", list}, {"x", tensor.value()}});
  return outputs.ok() && outputs.value()[0].kind() == onnx_cudnn::ValueKind::kTensor ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  onnx_cudnn::SetLogSink([](onnx_cudnn::LogSeverity, std::string_view) {});
  auto session = onnx_cudnn::Session::Load(argc > 1 ? argv[1] : "model.onnx", Options());
  if (!session.ok()) return session.error().code == onnx_cudnn::ErrorCode::kNotFound ? 2 : 1;
  return RunBoundTensors(session.value()) + RunValues(session.value());
}
