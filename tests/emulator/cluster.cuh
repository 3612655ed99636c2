// Stands for runtime/kernels/cuda/common/cluster.cuh.
#pragma once

#include <cstdint>

#include "tests/emulator/device.h"

namespace onnx_cudnn {

inline void ClusterArrive() { emulator::ArriveAtCluster(); }
inline void ClusterWait() { emulator::WaitForCluster(); }
inline uint32_t AddressIn(uint32_t address, int rank) { return emulator::InBlock(address, rank); }
inline void Send(uint32_t to, uint32_t barrier, const float4& v) {
  emulator::ptx::st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v4_f32(to, v.x, v.y, v.z,
                                                                                v.w, barrier);
}
inline void ClusterBarrierWait(uint32_t barrier, uint32_t parity) {
  emulator::ptx::mbarrier_try_wait_parity_acquire_cluster_shared_cta_b64(barrier, parity);
}

}  // namespace onnx_cudnn
