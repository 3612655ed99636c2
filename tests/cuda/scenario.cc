#include "tests/cuda/scenario.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/launch.h"

namespace onnx_cudnn {
namespace {

constexpr int kCount = 100;

// Launches RunIncrement on the device.
class KernelStep final : public Step {
 public:
  explicit KernelStep(Increment increment) : increment_(increment) {}
  absl::Status Launch(const LaunchArgs& args) const override {
    const void* data = &increment_;
    void* arguments[] = {&data};
    const KernelLaunch launch{.function = reinterpret_cast<const void*>(RunIncrement)};
    return LaunchKernel(launch, arguments, args.stream);
  }
  std::string Save() const override { return ""; }

 private:
  const Increment increment_;
};

// The same as a host function.
class HostStep final : public Step {
 public:
  absl::Status Launch(const LaunchArgs& args) const override {
    Increment increment{static_cast<float*>(args.out[0]), kCount, 1};
    RunIncrement(&increment);
    return absl::OkStatus();
  }
  std::string Save() const override { return ""; }
};

absl::Status Expect(const float* data, float value) {
  const auto is_value = [&](float x) { return x == value; };
  if (std::all_of(data, data + kCount, is_value)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("expected ", value, ", found ", data[0]));
}

// Device memory + 1 on stream 1, to pinned memory, + 1 there on stream 0.
absl::Status Enqueue(StreamSet& streams, const Step& kernel, const Step& host, void* data,
                     void* pinned) {
  void* out[] = {pinned};
  RETURN_IF_ERROR(streams.Mark(1, 0));
  RETURN_IF_ERROR(streams.Launch(1, kernel, {}, {}));
  RETURN_IF_ERROR(streams.Mark(1, 1));
  RETURN_IF_ERROR(streams.Copy(1, pinned, data, kCount * sizeof(float)));
  ASSIGN_OR_RETURN(const int copied, streams.Record(1));
  RETURN_IF_ERROR(streams.Wait(0, copied));
  return streams.LaunchOnHost(0, host, {.out = out}, {});
}

absl::Status RunWith(Device& device, FakeCuda& cuda) {
  const std::vector<float> ones(kCount, 1);
  const HostTensor tensor = HostTensor::Of<float>(DType::kF32, {kCount}, ones);
  ASSIGN_OR_RETURN(const auto uploaded, device.Upload(tensor, Space::kDevice));
  ASSIGN_OR_RETURN(const auto data, device.Allocate(kCount * sizeof(float), Space::kDevice));
  ASSIGN_OR_RETURN(const auto pinned, device.Allocate(kCount * sizeof(float), Space::kHost));
  auto* floats = reinterpret_cast<float*>(data.get());
  const auto* result = reinterpret_cast<const float*>(pinned.get());
  ASSIGN_OR_RETURN(const bool reads, device.ReadsDirectly(data.get()));
  if (!reads) return absl::InternalError("the device does not read its own memory");
  const KernelStep kernel({floats, kCount, 1});
  const HostStep host;
  static int shared_bytes = 50'000;  // what was allowed once is not asked for again
  RETURN_IF_ERROR(PrepareKernel(
      {.function = reinterpret_cast<const void*>(RunIncrement), .shared_bytes = ++shared_bytes}));
  ASSIGN_OR_RETURN(const auto streams, device.CreateStreams(2));
  RETURN_IF_ERROR(streams->Copy(1, data.get(), uploaded.get(), kCount * sizeof(float)));
  constexpr int64_t kHalf = kCount / 2 * sizeof(float);  // the same again, as two rows
  RETURN_IF_ERROR(streams->CopyBox(1, {.to = data.get(),
                                       .from = uploaded.get(),
                                       .row_bytes = kHalf,
                                       .rows = 2,
                                       .to_row_bytes = kHalf,
                                       .from_row_bytes = kHalf}));
  RETURN_IF_ERROR(Enqueue(*streams, kernel, host, data.get(), pinned.get()));
  RETURN_IF_ERROR(streams->Synchronize());
  RETURN_IF_ERROR(Expect(result, 3));
  RETURN_IF_ERROR(streams->BeginCapture());
  const absl::Status enqueued = Enqueue(*streams, kernel, host, data.get(), pinned.get());
  const auto graph = streams->EndCapture();
  RETURN_IF_ERROR(enqueued);
  RETURN_IF_ERROR(graph.status());
  RETURN_IF_ERROR(Expect(result, 3));
  RETURN_IF_ERROR(streams->Fork(cuda.callers_stream()));
  RETURN_IF_ERROR(streams->Replay(**graph));
  RETURN_IF_ERROR(
      FillAsync(data.get(), 0, kCount * sizeof(float), {.native = cuda.callers_stream()}));
  RETURN_IF_ERROR(streams->Join(cuda.callers_stream()));
  RETURN_IF_ERROR(streams->Synchronize());
  RETURN_IF_ERROR(Expect(result, 4));
  RETURN_IF_ERROR(streams->MsBetween(0, 1).status());
  RETURN_IF_ERROR(streams->TimeReplays(**graph, 3).status());
  return Expect(result, 4);  // three times from 0
}

}  // namespace

void RunIncrement(void* increment) {
  const Increment& i = *static_cast<const Increment*>(increment);
  for (int k = 0; k < i.count; ++k) i.data[k] += i.amount;
}

absl::Status RunScenario(FakeCuda& cuda) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, OpenCudaDevice());
  return RunWith(*device, cuda);
}

}  // namespace onnx_cudnn
