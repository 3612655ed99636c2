#pragma once

#include "absl/types/span.h"
#include "tests/random/growth.h"

namespace onnx_cudnn {

// A step by which a Graph can grow from a Value that `fits`: an op, or several as in real models.
struct Maker {
  bool (*fits)(const Value& x);
  void (*make)(Growth& growth, Value& x);
};

absl::Span<const Maker> PointwiseMakers();
absl::Span<const Maker> MovementMakers();  // shapes, copies, indices
absl::Span<const Maker> NumericMakers();   // products, pools, normalizations, reductions
absl::Span<const Maker> MotifMakers();     // patterns that the rewrites look for

inline bool IsFloat(const Value& x) { return kFloatTypes.Has(x.dtype()); }
inline bool IsImage(const Value& x) { return IsFloat(x) && x.rank() == 4; }
inline bool HasAxes(const Value& x) { return x.rank() >= 1; }

// 0 … rank − 1, sometimes counted from the end.
inline int64_t RandomAxis(Growth& growth, const Value& x) {
  const int axis = growth.Below(x.rank());
  return growth.OneIn(3) ? axis - x.rank() : axis;
}

}  // namespace onnx_cudnn
