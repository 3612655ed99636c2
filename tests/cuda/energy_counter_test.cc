#include "runtime/cuda/energy_counter.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/library_calls.h"

namespace onnx_cudnn {
namespace {

constexpr char kBus[] = "00000000:3B:00.0";
bool has_nvml, has_counter;
int library, gpu;

int Init() { return 0; }
int Find(const char* bus, void** device) {
  *device = &gpu;
  return std::string(bus) == kBus ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}
int Read(void* device, unsigned long long* millijoules) {
  *millijoules = 2500;
  return device == &gpu ? 0 : 2;  // NVML_ERROR_INVALID_ARGUMENT
}
int ReadLimit(void* device, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return device == &gpu ? 0 : 2;
}

constexpr LibraryCalls kHost = {
    .dlopen = [](const char* name, int) -> void* {
      return has_nvml && std::string(name) == "libnvidia-ml.so.1" ? &library : nullptr;
    },
    .dlsym = [](void*, const char* name) -> void* {
      const std::string text = name;
      if (text == "nvmlInit_v2") return reinterpret_cast<void*>(&Init);
      if (text == "nvmlDeviceGetHandleByPciBusId_v2") return reinterpret_cast<void*>(&Find);
      if (text == "nvmlDeviceGetTotalEnergyConsumption" && has_counter) {
        return reinterpret_cast<void*>(&Read);
      }
      if (text == "nvmlDeviceGetEnforcedPowerLimit" && has_counter) {
        return reinterpret_cast<void*>(&ReadLimit);
      }
      return nullptr;
    },
    .dlerror = []() -> const char* { return nullptr; },
    .glob = [](const std::string&) { return std::vector<std::string>(); },
    .file_of = [](void*) { return std::string(); },
};

TEST(EnergyCounterTest, CountsJoulesOfTheGpu) {
  const ScopedLibraryCalls scope(kHost);
  has_nvml = has_counter = true;
  EXPECT_EQ(EnergyCounter(kBus).Joules(), 2.5);
  EXPECT_EQ(EnergyCounter(kBus).PowerLimitWatts(), 700);
  EXPECT_EQ(EnergyCounter("00000000:5E:00.0").Joules(), std::nullopt);
  EXPECT_EQ(EnergyCounter("00000000:5E:00.0").PowerLimitWatts(), std::nullopt);
}

TEST(EnergyCounterTest, IsUnknownWithoutNvmlOrItsCounter) {
  const ScopedLibraryCalls scope(kHost);
  has_nvml = true, has_counter = false;
  EXPECT_EQ(EnergyCounter(kBus).Joules(), std::nullopt);
  EXPECT_EQ(EnergyCounter(kBus).PowerLimitWatts(), std::nullopt);
  has_nvml = false;
  EXPECT_EQ(EnergyCounter(kBus).Joules(), std::nullopt);
}

}  // namespace
}  // namespace onnx_cudnn
