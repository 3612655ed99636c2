// Runs the project's CUDA kernels on the host, for tests where there is no GPU: every thread of a
// block is a fiber of the calling thread, which go on in a fixed order and change at barriers and
// warp operations alone. It proves index arithmetic, barriers and results, not speed. A race shows
// where results differ between the two orders; a missing wait for asynchronous work, where that
// work is done as late as the waits that are there allow.
//
// tests/emulator/translate.py makes host C++ of a .cu file; device.h stands for what nvcc declares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/kernels/cuda/common/kernel_call.h"
#include "tests/emulator/async_work.h"

namespace onnx_cudnn::emulator {

// In which order the threads of a cluster of blocks go on.
enum class Order : uint8_t { kForward, kBackward };

// When asynchronous work is done: copies to shared memory, bulk stores, wgmma, what blocks of a
// cluster send each other, and the begin of these blocks.
enum class Arrival : uint8_t {
  kLate,    // when a thread waits for it and no thread can go on without; until then it is NaN
  kSeeded,  // in a pseudo-random order: early, late or between
  kAtOnce
};

struct Schedule {
  Order order = Order::kForward;
  Arrival arrival = Arrival::kLate;
  uint32_t seed = 1;  // of kSeeded
};

// Runs all blocks of `function`, a translated __global__ function of one parameter of more than 16
// bytes, one cluster after the other.
//   returns  what was wrong, or "": threads that wait for each other for ever, a barrier or warp
//            operation that a CUDA device would refuse, a block that ended without
//            WaitForLaunchBefore or before its asynchronous work was done
std::string Run(const void* function, const LaunchShape& shape, const void* parameters,
                size_t parameter_bytes, const Schedule& schedule = {});

// What stands behind the names of device.h. Of the fiber that runs.
struct Index {
  unsigned x = 0, y = 0, z = 0;
};
struct Place {
  Index thread, block, block_extent, grid_extent;
};
extern const Place* place;

void* DynamicShared();
// The block's memory of the shared variable that `tag` stands for.
void* StaticShared(const void* tag, size_t bytes);
void SyncThreads();
void ArriveAtCluster();
void WaitForCluster();
// bar.sync and bar.arrive: `threads` of the block meet at barrier `name`.
void NamedBarrier(int name, int threads, bool waits);
// Each lane of `mask` hands in a value; returns those of all 32, in order of the lanes, until the
// next exchange. Lanes that are done count as absent.
const uint64_t* Exchange(uint32_t mask, uint64_t value);
int Lane();
uint32_t PresentLanes();
// griddepcontrol.wait: launches may start early (dependent_launch.cuh).
void WaitForLaunchBefore();

// cp.async of this thread.
void StartCopy(uint32_t to, const void* from, int written, int read);
void CommitCopies();
void WaitForCopies(int pending);
// Bulk stores of this thread.
enum class StorePart : uint8_t { kRead, kAll };
void StartStore(std::function<std::vector<std::byte>()> read,
                std::function<void(const std::vector<std::byte>&)> write);
void CommitStores();
void WaitForStores(int pending, StorePart part);
// wgmma, of this thread's sums.
void FenceProducts();
void StartProduct(const Product& product);
void CommitProducts();
void WaitForProducts(int pending);
// Loads that a barrier in shared memory counts. Waits until `ready` says so.
void StartLoad(const std::byte* barrier, std::function<void()> arrive);
void WaitForLoads(const std::byte* barrier, bool (*ready)(const void*), const void* context);

// Ends the launch with a message.
[[noreturn]] void Fail(const std::string& message);

// Shared memory by 32-bit address, as __cvta_generic_to_shared gives it.
uint32_t SharedAddressOf(const void* pointer);
std::byte* AtShared(uint32_t address);
// The same address in block `rank` of the cluster.
uint32_t InBlock(uint32_t address, int rank);

}  // namespace onnx_cudnn::emulator
