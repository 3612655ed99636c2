// Moves elements of one source to where a box of axes says: what Slice, Pad, Expand and Tile are.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostMoveAxes = 16;  // Tile makes two of each of up to 8 dims

enum class MoveMode : uint8_t { kDirect, kReflect, kEdge, kWrap };

// Which element of the source stands at position j of an axis of the output, in units of `stride`:
//   j in [low, high)  number j
//   extent == 0       none elsewhere
//   else              begin + what MoveMode makes of j - begin on an axis of `extent` elements
struct Route {
  int64_t low = 0, high = 0;
  int64_t stride = 0;  // units of the source between neighbours; 0 repeats, negative goes back
  int64_t begin = 0, extent = 0;
};
struct Routes {
  int64_t base = 0;                // where the source of position 0 of all axes lies, or would lie
  Route axes[kMostMoveAxes] = {};  // the innermost first
};

// A launch that writes every lane of a dense output. A unit is an element, or several that move
// together.
struct Move {
  Slot from, to;              // aligned to 16 bytes
  std::optional<Slot> fill;   // the element that stands where there is no source; else `pattern`
  std::optional<Slot> table;  // Routes that an earlier launch made, in place of `routes`
  int64_t from_bytes = 0;     // that may be read
  int unit_bytes = 1;         // 1, 2, 4, 8 or 16
  int fill_bytes = 1;         // of the element
  uint64_t pattern[2] = {};   // 16 bytes of it, one after the other
  MoveMode mode = MoveMode::kDirect;
  int rank = 1;                         // 1 … kMostMoveAxes
  int64_t extents[kMostMoveAxes] = {};  // units of the output, the innermost axis first
  int64_t logical = 0;  // innermost positions from here on are padding and become zero
  Routes routes;
};
KernelCall CallOf(const Move& move);

}  // namespace onnx_cudnn
