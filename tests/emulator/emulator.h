// Runs the project's CUDA kernels on the host, for tests where there is no GPU: every thread of a
// block is a fiber of the calling thread, which go on in a fixed order and change at barriers and
// warp operations alone. It proves index arithmetic, barriers and results, not speed. A race shows
// where results differ between the two orders.
//
// tests/emulator/translate.py makes host C++ of a .cu file; device.h stands for what nvcc declares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn::emulator {

// In which order the threads of a cluster of blocks go on.
enum class Order : uint8_t { kForward, kBackward };

// Runs all blocks of `function`, a translated __global__ function of one parameter of more than 16
// bytes, one cluster after the other.
//   returns  what was wrong, or "": threads that wait for each other for ever, a barrier or warp
//            operation that a CUDA device would refuse, a block that ended without
//            WaitForLaunchBefore
std::string Run(const void* function, const LaunchShape& shape, const void* parameters,
                size_t parameter_bytes, Order order = Order::kForward);

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
void SyncCluster();
// bar.sync and bar.arrive: `threads` of the block meet at barrier `name`.
void NamedBarrier(int name, int threads, bool waits);
// Each lane of `mask` hands in a value; returns those of all 32, in order of the lanes, until the
// next exchange. Lanes that are done count as absent.
const uint64_t* Exchange(uint32_t mask, uint64_t value);
int Lane();
uint32_t PresentLanes();
// griddepcontrol.wait: launches may start early (dependent_launch.cuh).
void WaitForLaunchBefore();
// Lets the other fibers go on until `ready` says so.
void WaitUntil(bool (*ready)(const void*), const void* context);
// Ends the launch with a message.
[[noreturn]] void Fail(const std::string& message);

// Shared memory by 32-bit address, as __cvta_generic_to_shared gives it.
uint32_t SharedAddressOf(const void* pointer);
std::byte* AtShared(uint32_t address);
// The same address in block `rank` of the cluster.
uint32_t InBlock(uint32_t address, int rank);

}  // namespace onnx_cudnn::emulator
