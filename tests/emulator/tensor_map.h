// A CUtensorMap of the emulator: what stands in TensorMapBytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/kernels/cuda/kernel_call.h"

namespace onnx_cudnn::emulator {

struct EncodedMap {
  std::byte* data;
  uint32_t dims[5], box[5];
  uint32_t strides[4];  // of dims 1 and up, bytes / 16
  uint8_t rank, element_bytes;
  bool swizzles;

  uint32_t Swizzled(uint32_t address) const {
    return swizzles ? address ^ (address >> 7 & 7) << 4 : address;
  }

  // Calls move(offset in the box, element or nullptr where it lies outside, bytes) for each element
  // of the box at `at`; returns the box's bytes.
  template <typename Move>
  int64_t Copy(const int (&at)[5], Move move) const {
    int64_t lanes = 1;
    for (int d = 0; d < rank; ++d) lanes *= box[d];
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t rest = lane, offset = 0;
      bool inside = true;
      for (int d = 0; d < rank; ++d) {
        const int64_t i = at[d] + rest % box[d];
        rest /= box[d];
        inside = inside && i >= 0 && i < static_cast<int64_t>(dims[d]);
        offset += i * (d == 0 ? element_bytes : int64_t{strides[d - 1]} * 16);
      }
      move(static_cast<uint32_t>(lane * element_bytes), inside ? data + offset : nullptr,
           int{element_bytes});
    }
    return lanes * element_bytes;
  }
};
static_assert(sizeof(EncodedMap) <= sizeof(TensorMapBytes));

inline EncodedMap MapOf(const void* bytes) {
  EncodedMap map;
  std::memcpy(&map, bytes, sizeof(map));
  return map;
}

// What stands for cuTensorMapEncodeTiled.
inline TensorMapBytes Encode(const TensorMap& map, void* data) {
  EncodedMap encoded = {.data = static_cast<std::byte*>(data),
                        .rank = static_cast<uint8_t>(map.rank),
                        .swizzles = map.swizzles_128};
  encoded.element_bytes = map.element == TensorMap::Element::kF32 ? 4 : 2;
  for (int d = 0; d < map.rank; ++d) {
    encoded.dims[d] = static_cast<uint32_t>(map.dims[d]);
    encoded.box[d] = map.box[d];
    if (d > 0) encoded.strides[d - 1] = static_cast<uint32_t>(map.strides[d - 1] / 16);
  }
  TensorMapBytes bytes = {};
  std::memcpy(bytes.bytes, &encoded, sizeof(encoded));
  return bytes;
}

}  // namespace onnx_cudnn::emulator
