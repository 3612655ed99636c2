#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// The differences between RNN, GRU and LSTM: the gates, and the activations per direction.
struct RecurrentKind {
  int64_t gates;
  std::vector<std::string_view> activations;
};

// x[steps, batch, input], or x[batch, steps, input] with `batch_first`; the states and y likewise:
// [directions, batch, hidden] or [batch, directions, hidden].
struct RecurrentShape {
  int64_t steps = 0, batch = 0, input = 0, hidden = 0, directions = 1, gates = 1;
  bool batch_first = false, first_is_reverse = false;

  int64_t gate_rows() const { return gates * hidden; }
  // Where the row of a batch entry starts: in x as a row index; in y and the states in elements.
  int64_t InputRow(int64_t step, int64_t b) const {
    return batch_first ? b * steps + step : step * batch + b;
  }
  int64_t OutputAt(int64_t step, int64_t direction, int64_t b) const {
    return hidden * (batch_first ? (b * steps + step) * directions + direction
                                 : (step * directions + direction) * batch + b);
  }
  int64_t StateAt(int64_t direction, int64_t b) const {
    return hidden * (batch_first ? b * directions + direction : direction * batch + b);
  }
};

// The operands' positions.
inline constexpr int kRecurrentX = 0, kRecurrentW = 1, kRecurrentR = 2, kRecurrentB = 3,
                     kRecurrentLengths = 4, kRecurrentH = 5, kRecurrentC = 6, kRecurrentP = 7;

// The checks of ranks, dtypes and attributes that the three ops share.
Support CheckRecurrent(const Node& node, const RecurrentKind& kind);

// The shape of a Node with known dims that CheckRecurrent accepts.
RecurrentShape RecurrentShapeOf(const Node& node, const RecurrentKind& kind);

// InvalidArgument unless every operand has the dims that `shape` requires, and every sequence
// length is within [0, steps].
absl::Status CheckRecurrentDims(const ReferenceArgs& args, const RecurrentShape& shape);

}  // namespace onnx_cudnn
