// Runs the project's CUDA kernels on the host, for tests without a GPU: every thread of a block is
// a fiber of the calling thread. Fibers run in a fixed order and switch only at barriers and warp
// operations. This checks index arithmetic, barriers and results, not speed. A race shows as a
// difference between the two orders; a missing wait for asynchronous work shows because that work
// is done as late as the existing waits allow.
//
// tests/emulator/translate.py converts a .cu file to host C++; device.h replaces what nvcc
// declares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/kernels/cuda/common/kernel_call.h"
#include "tests/emulator/async_work.h"

namespace onnx_cudnn::emulator {

// The order in which the threads of a cluster of blocks run.
enum class Order : uint8_t { kForward, kBackward };

// When asynchronous work is done: copies to shared memory, bulk stores, wgmma, data sent between
// blocks of a cluster, and the start of these blocks.
enum class Arrival : uint8_t {
  kLate,    // when a thread waits for it and no thread can continue otherwise; NaN until then
  kSeeded,  // in a pseudo-random order: early, late or in between
  kAtOnce
};

struct Schedule {
  Order order = Order::kForward;
  Arrival arrival = Arrival::kLate;
  uint32_t seed = 1;  // for kSeeded
};

// Runs all blocks of `function`, a translated __global__ function with one parameter of more than
// 16 bytes, one cluster after the other.
//   returns  the error, or "": a deadlock, a barrier or warp operation that a CUDA device would
//            reject, a block that ended without WaitForLaunchBefore or before its asynchronous work
//            was done
std::string Run(const void* function, const LaunchShape& shape, const void* parameters,
                size_t parameter_bytes, const Schedule& schedule = {});

// Implementation of the names in device.h, for the running fiber.
struct Index {
  unsigned x = 0, y = 0, z = 0;
};
struct Place {
  Index thread, block, block_extent, grid_extent;
};
extern const Place* place;

void* DynamicShared();
// The block's memory for the shared variable identified by `tag`.
void* StaticShared(const void* tag, size_t bytes);
void SyncThreads();
void ArriveAtCluster();
void WaitForCluster();
// bar.sync and bar.arrive: `threads` threads of the block meet at barrier `name`.
void NamedBarrier(int name, int threads, bool waits);
// Each lane of `mask` passes in a value; returns those of all 32 lanes in order, valid until the
// next exchange. Lanes that have ended count as absent.
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
// wgmma, for this thread's sums.
void FenceProducts();
void StartProduct(const Product& product);
void CommitProducts();
void WaitForProducts(int pending);
// Loads that a barrier in shared memory counts. Waits until `ready` returns true.
void StartLoad(const std::byte* barrier, std::function<void()> arrive);
void WaitForLoads(const std::byte* barrier, bool (*ready)(const void*), const void* context);

// Ends the launch with a message.
[[noreturn]] void Fail(const std::string& message);

// Shared memory addresses in 32 bits, as from __cvta_generic_to_shared.
uint32_t SharedAddressOf(const void* pointer);
std::byte* AtShared(uint32_t address);
// The corresponding address in block `rank` of the cluster.
uint32_t InBlock(uint32_t address, int rank);

}  // namespace onnx_cudnn::emulator
