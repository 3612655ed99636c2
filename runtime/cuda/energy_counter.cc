#include "runtime/cuda/energy_counter.h"

#include <dlfcn.h>

#include "runtime/cuda/library_calls.h"

namespace onnx_cudnn {
namespace {

constexpr char kNvml[] = "libnvidia-ml.so.1";
constexpr int kSuccess = 0;  // NVML_SUCCESS

template <typename F>
F* Function(void* library, const char* name) {
  return reinterpret_cast<F*>(Libraries().dlsym(library, name));
}

}  // namespace

// NVML stays open and initialized: opening it takes milliseconds, and others may use it.
EnergyCounter::EnergyCounter(const std::string& pci_bus_id) {
  void* const nvml = Libraries().dlopen(kNvml, RTLD_NOW | RTLD_LOCAL);
  if (nvml == nullptr) {
    Libraries().dlerror();  // clears the message
    return;
  }
  auto* const init = Function<int()>(nvml, "nvmlInit_v2");
  auto* const find = Function<int(const char*, void**)>(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
  auto* const read =
      Function<int(void*, unsigned long long*)>(nvml, "nvmlDeviceGetTotalEnergyConsumption");
  if (init == nullptr || find == nullptr || init() != kSuccess) return;
  if (find(pci_bus_id.c_str(), &gpu_) != kSuccess) return;
  read_ = read;
  read_limit_ = Function<int(void*, unsigned*)>(nvml, "nvmlDeviceGetEnforcedPowerLimit");
}

std::optional<double> EnergyCounter::Joules() const {
  unsigned long long millijoules = 0;
  if (read_ == nullptr || read_(gpu_, &millijoules) != kSuccess) return std::nullopt;
  return 1e-3 * static_cast<double>(millijoules);
}

std::optional<double> EnergyCounter::PowerLimitWatts() const {
  unsigned milliwatts = 0;
  if (read_limit_ == nullptr || read_limit_(gpu_, &milliwatts) != kSuccess) return std::nullopt;
  return 1e-3 * static_cast<double>(milliwatts);
}

}  // namespace onnx_cudnn
