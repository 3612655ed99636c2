// The emulator's CUtensorMap: the content of TensorMapBytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn::emulator {

struct EncodedMap {
  std::byte* data;
  uint32_t dims[5], box[5];
  uint32_t strides[4];  // of dims 1 and up, in units of 16 bytes
  uint8_t rank, element_bytes;
  bool swizzles;
  bool rounds_to_tf32;  // loads round to it
  bool uses_im2col;
  int8_t first[2], last[2];  // window corners for im2col mode, as in TensorMap
  uint8_t place_strides[2];

  uint32_t Swizzled(uint32_t address) const {
    return swizzles ? address ^ (address >> 7 & 7) << 4 : address;
  }

  // Whether `at` is a window position along the columns (0) or rows (1).
  bool IsPlace(int at, int axis) const {
    const int after_first = at - first[axis];
    return after_first >= 0 && after_first % place_strides[axis] == 0 &&
           at <= static_cast<int>(dims[1 + axis]) - 1 + last[axis];
  }

  // Calls move as Copy does for each element of box[1] window positions from `at` on, for one tap.
  template <typename Move>
  int64_t CopyIm2col(const int (&at)[4], int column, int row, Move move) const {
    int place[3] = {at[1], at[2], at[3]};
    uint32_t offset = 0;
    for (uint32_t pixel = 0; pixel < box[1]; ++pixel) {
      const int64_t x = place[0] + column, y = place[1] + row, image = place[2];
      const bool inside = x >= 0 && x < dims[1] && y >= 0 && y < dims[2] && image < dims[3];
      const int64_t from = (x * strides[0] + y * strides[1] + image * strides[2]) * 16;
      for (uint32_t c = 0; c < box[0]; ++c, offset += element_bytes) {
        move(offset, inside ? data + from + int64_t{at[0] + c} * element_bytes : nullptr,
             int{element_bytes});
      }
      for (int axis = 0; axis < 2; ++axis) {
        place[axis] += place_strides[axis];
        if (place[axis] <= static_cast<int>(dims[1 + axis]) - 1 + last[axis]) break;
        place[axis] = first[axis];
        if (axis == 1) ++place[2];
      }
    }
    return offset;
  }

  // Calls move(offset in the box, element or nullptr if it is outside, bytes) for each element of
  // the box at `at`; returns the box's bytes.
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

// Replaces cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
inline TensorMapBytes Encode(const TensorMap& map, void* data) {
  EncodedMap encoded = {.data = static_cast<std::byte*>(data),
                        .rank = static_cast<uint8_t>(map.rank),
                        .swizzles = map.swizzles_128,
                        .rounds_to_tf32 = map.element == TensorMap::Element::kTf32,
                        .uses_im2col = map.im2col.has_value()};
  const bool is_half =
      map.element == TensorMap::Element::kF16 || map.element == TensorMap::Element::kBF16;
  encoded.element_bytes = is_half ? 2 : 4;
  for (int d = 0; d < map.rank; ++d) {
    encoded.dims[d] = static_cast<uint32_t>(map.dims[d]);
    encoded.box[d] = map.box[d];
    if (d > 0) encoded.strides[d - 1] = static_cast<uint32_t>(map.strides[d - 1] / 16);
  }
  for (int axis = 0; axis < 2 && map.im2col; ++axis) {
    encoded.first[axis] = static_cast<int8_t>(map.im2col->first[axis]);
    encoded.last[axis] = static_cast<int8_t>(map.im2col->last[axis]);
    encoded.place_strides[axis] = static_cast<uint8_t>(map.im2col->strides[axis]);
  }
  TensorMapBytes bytes = {};
  std::memcpy(bytes.bytes, &encoded, sizeof(encoded));
  return bytes;
}

}  // namespace onnx_cudnn::emulator
