#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The axes that a Resize of `rank` axes resizes, from the front: its attribute, or all.
std::vector<int64_t> ResizedAxes(const Node& resize, int64_t rank);

// The mapping from outputs to inputs along one axis of Resize.
struct ResizeAxis {
  int64_t in = 0, out = 0;
  double scale = 1;   // out / in before rounding
  double length = 0;  // scale * in; exactly `out` if the scale was computed from sizes
  double roi_begin = 0, roi_end = 1;  // of tf_crop_and_resize
};

struct ResizeMode {
  std::string_view coordinates;  // coordinate_transformation_mode
  std::string_view nearest;      // nearest_mode
  double cubic_a = -0.75;
  bool antialias = false;
  bool exclude_outside = false;
};

bool IsCoordinateMode(std::string_view mode);
bool IsNearestMode(std::string_view mode);

// For each output, the inputs and weights of its sum: `taps` inputs per output; every index is in
// [0, in).
struct ResizeTable {
  int64_t taps = 1;
  std::vector<int64_t> index;  // [out, taps]
  std::vector<double> weight;  // [out, taps]
  std::vector<uint8_t>
      outside;            // [out]: 1 where tf_crop_and_resize takes extrapolation_value instead
  bool identity = false;  // every output equals the input of the same index
};

// in > 0 unless out is 0. Source: ONNX's reference implementation of Resize.
ResizeTable NearestTable(const ResizeAxis& axis, const ResizeMode& mode);
ResizeTable LinearTable(const ResizeAxis& axis, const ResizeMode& mode);
ResizeTable CubicTable(const ResizeAxis& axis, const ResizeMode& mode);

}  // namespace onnx_cudnn
