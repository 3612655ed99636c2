// A GPU's energy counter and its power limit, from NVML, which comes with the driver.
#pragma once

#include <optional>
#include <string>

namespace onnx_cudnn {

class EnergyCounter {
 public:
  // pci_bus_id  as CudaFacts::pci_bus_id
  explicit EnergyCounter(const std::string& pci_bus_id);
  // Since the driver was loaded, of the whole GPU; it counts on every 20 to 100 ms. nullopt: there
  // is no NVML, or this GPU has no counter.
  std::optional<double> Joules() const;
  // What is enforced now. nullopt: there is no NVML, or this GPU has no limit.
  std::optional<double> PowerLimitWatts() const;

 private:
  void* gpu_ = nullptr;  // nvmlDevice_t
  int (*read_limit_)(void* gpu, unsigned* milliwatts) = nullptr;
  int (*read_)(void* gpu, unsigned long long* millijoules) = nullptr;
};

}  // namespace onnx_cudnn
