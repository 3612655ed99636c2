#include "runtime/cuda/cuda_device.h"

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/start_times.h"
#include "runtime/base/status.h"
#include "runtime/cuda/capture_mutex.h"
#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_memory.h"
#include "runtime/cuda/cuda_streams.h"
#include "runtime/cuda/current_device.h"
#include "runtime/cuda/energy_counter.h"
#include "runtime/cuda/handles.h"
#include "runtime/cuda/launch.h"
#include "runtime/plan/known_devices.h"

namespace onnx_cudnn {
namespace {

class CudaDevice final : public Device {
 public:
  CudaDevice(int ordinal, const CudaFacts& facts, CudaStream uploads)
      : ordinal_(ordinal),
        info_(DeviceInfoOf(facts)),
        versions_{.driver = facts.driver, .cuda = CudaVersionText(facts.runtime_cuda)},
        pci_bus_id_(facts.pci_bus_id),
        uploads_(std::move(uploads)) {}

  std::string_view name() const override { return "cuda"; }
  const DeviceInfo& info() const override { return info_; }
  PlatformVersions versions() const override { return versions_; }

  absl::Status MakeCurrent() override { return MakeCudaDeviceCurrent(ordinal_); }
  bool is_lost() const override { return DeviceIsLost(ordinal_); }
  std::optional<double> Joules() const override { return Energy().Joules(); }
  std::optional<double> PowerLimitWatts() const override { return Energy().PowerLimitWatts(); }

  absl::StatusOr<std::shared_ptr<std::byte>> Allocate(int64_t bytes, Space space) override {
    return AllocateCudaMemory(bytes, space);
  }

  // Steps on the host read the bytes of the tensor itself.
  absl::StatusOr<std::shared_ptr<const std::byte>> Upload(const HostTensor& tensor,
                                                          Space space) override {
    if (space == Space::kHost) {
      auto owner = std::make_shared<HostTensor>(tensor);
      return std::shared_ptr<const std::byte>(owner, static_cast<const std::byte*>(owner->raw()));
    }
    const StartScope scope("copy weights to the device");
    ASSIGN_OR_RETURN(std::shared_ptr<std::byte> copy, Allocate(tensor.bytes(), space));
    absl::MutexLock lock(upload_mutex_);
    const StreamRef stream{.native = uploads_.get()};
    RETURN_IF_ERROR(CopyAsync(copy.get(), tensor.raw(), tensor.bytes(), stream));
    RETURN_IF_ERROR(CUDA_STATUS(cudaStreamSynchronize, uploads_.get()));
    return copy;
  }

  absl::StatusOr<std::unique_ptr<StreamSet>> CreateStreams(int count) override {
    return MakeCudaStreams(count);
  }

  absl::StatusOr<bool> ReadsDirectly(const void* data) override {
    cudaPointerAttributes attributes = {};
    RETURN_IF_ERROR(CUDA_STATUS(cudaPointerGetAttributes, &attributes, data));
    const bool is_device = attributes.type == cudaMemoryTypeDevice;
    if (!is_device) return attributes.type == cudaMemoryTypeManaged;
    if (attributes.device == ordinal_) return true;
    return absl::InvalidArgumentError(absl::StrCat("expected memory of CUDA device ", ordinal_,
                                                   " or of the host, found memory of device ",
                                                   attributes.device));
  }

  absl::Status CopyFromPeer(void* to, const void* from, int peer, int64_t bytes) override {
    absl::MutexLock lock(upload_mutex_);
    if (!reached_.contains(peer)) {
      RETURN_IF_ERROR(Reach(peer));
      reached_.insert(peer);
    }
    RETURN_IF_ERROR(CUDA_STATUS(cudaMemcpyPeerAsync, to, ordinal_, from, peer,
                                static_cast<size_t>(bytes), uploads_.get()));
    return CUDA_STATUS(cudaStreamSynchronize, uploads_.get());
  }

 private:
  // Lets copies go from GPU to GPU where the host's links allow it; others go through the host.
  absl::Status Reach(int peer) const {
    int count = 0, can = 0;
    RETURN_IF_ERROR(CUDA_STATUS(cudaGetDeviceCount, &count));
    if (peer < 0 || peer >= count) {
      return absl::InvalidArgumentError(
          absl::StrCat("found memory of CUDA device ", peer, ", this process has ", count));
    }
    RETURN_IF_ERROR(CUDA_STATUS(cudaDeviceCanAccessPeer, &can, ordinal_, peer));
    if (can == 0) return absl::OkStatus();
    const OutsideCaptures lock;
    const cudaError_t error = Cuda().cudaDeviceEnablePeerAccess(peer, /*flags=*/0);
    if (error == cudaErrorPeerAccessAlreadyEnabled || error == cudaErrorTooManyPeers) {
      Cuda().cudaGetLastError();
      return absl::OkStatus();
    }
    return CudaStatus(error, "cudaDeviceEnablePeerAccess");
  }

  const EnergyCounter& Energy() const {
    std::call_once(energy_once_, [this] { energy_.emplace(pci_bus_id_); });
    return *energy_;
  }

  const int ordinal_;
  const DeviceInfo info_;
  const PlatformVersions versions_;
  const std::string pci_bus_id_;
  mutable std::once_flag energy_once_;  // opening NVML takes milliseconds
  mutable std::optional<EnergyCounter> energy_;
  absl::Mutex upload_mutex_;
  std::set<int> reached_ ABSL_GUARDED_BY(upload_mutex_);  // other GPUs, by ordinal
  const CudaStream uploads_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(
    int ordinal, const std::function<void(const DeviceInfo&)>& on_info) {
  const auto on_facts = [&](const CudaFacts& facts) {
    if (on_info) on_info(DeviceInfoOf(facts));
  };
  ASSIGN_OR_RETURN(const CudaFacts facts, OpenCudaContext(ordinal, on_facts));
  cudaStream_t uploads = nullptr;
  absl::ReaderMutexLock lock(CaptureMutex());
  RETURN_IF_ERROR(CUDA_STATUS(cudaStreamCreateWithFlags, &uploads, cudaStreamNonBlocking));
  return std::make_unique<CudaDevice>(ordinal, facts, CudaStream(uploads));
}

}  // namespace onnx_cudnn
