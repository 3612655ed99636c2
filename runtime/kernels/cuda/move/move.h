// Copies elements of one source to computed positions of the output: Slice, Pad, Expand and Tile.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostMoveAxes = 16;  // Tile makes two axes of each of up to 8 dims

enum class MoveMode : uint8_t { kDirect, kReflect, kEdge, kWrap };

// The source element for position j of an axis of the output, in units of `stride`:
//   j in [low, high)  number j
//   extent == 0       none elsewhere
//   else              begin + MoveMode(j - begin), on an axis of `extent` elements
struct Route {
  int64_t low = 0, high = 0;
  int64_t stride = 0;  // units of the source between neighbours; 0 repeats, negative reverses
  int64_t begin = 0, extent = 0;
};
struct Routes {
  int64_t base = 0;  // source offset of position 0 of all axes, which may be out of bounds
  Route axes[kMostMoveAxes] = {};  // innermost first
};

// A launch that writes every lane of a dense output. A unit is an element, or several elements that
// move together.
struct Move {
  Slot from, to;              // 16-byte aligned
  std::optional<Slot> fill;   // the element for positions without a source; otherwise `pattern`
  std::optional<Slot> table;  // Routes computed by an earlier launch, instead of `routes`
  int64_t from_bytes = 0;     // readable bytes of the source
  int unit_bytes = 1;         // 1, 2, 4, 8 or 16
  int fill_bytes = 1;         // bytes of the fill element
  uint64_t pattern[2] = {};   // the fill element, repeated to 16 bytes
  MoveMode mode = MoveMode::kDirect;
  int rank = 1;                         // 1 … kMostMoveAxes
  int64_t extents[kMostMoveAxes] = {};  // units of the output, innermost axis first
  int64_t logical = 0;  // innermost positions from here on are padding and become zero
  Routes routes;
};
KernelCall CallOf(const Move& move);

}  // namespace onnx_cudnn
