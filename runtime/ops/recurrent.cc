// RNN, GRU and LSTM. The products of all inputs with W are computed as one product before the first
// step.
#include <algorithm>
#include <limits>

#include "runtime/base/status.h"
#include "runtime/ops/blas.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/recurrent_shape.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

// The state of one direction. Rows of `gates` and `recurrent` have gate_rows() elements, those of
// the states `hidden`.
template <typename T>
struct Direction {
  const RecurrentShape& shape;
  ThreadPool& threads;
  const T* r;          // [gate_rows, hidden]
  const T* bias;       // [2, gate_rows], of w and of r; nullptr: none
  const T* peepholes;  // [3, hidden]; nullptr: none
  const int32_t* lengths;
  absl::Span<const GateActivation> activations;
  T clip;
  bool linear_before_reset, couples_input_forget, reverse;
  T* gates;      // [rows of x]: x * W' + biases
  T* recurrent;  // [batch]: h * R'
  T* hidden;     // [batch]
  T* cell;       // [batch]
  T* reset;      // [batch]: r ⊙ h of GRU

  T Activate(int which, T x) const {
    return activations[which](x < -clip ? -clip : x > clip ? clip : x);
  }
  int64_t LengthOf(int64_t b) const { return lengths == nullptr ? shape.steps : lengths[b]; }
  T PeepholeOf(int64_t gate, int64_t k) const {
    return peepholes == nullptr ? T{0} : peepholes[gate * shape.hidden + k];
  }

  // to[batch, rows of R] = from * R', for the rows [first, last) of R.
  void MultiplyR(const T* from, int64_t first, int64_t last) const {
    Gemm(threads, GemmProblem<T>{.m = shape.batch,
                                 .n = last - first,
                                 .k = shape.hidden,
                                 .a = from,
                                 .lda = shape.hidden,
                                 .b = r + first * shape.hidden,
                                 .ldb = shape.hidden,
                                 .transpose_b = true,
                                 .c = recurrent + first,
                                 .ldc = shape.gate_rows()});
  }

  // Calls f(b, gates of b at its step) for every sequence that is longer than `step`.
  template <typename F>
  void ForEachActive(int64_t step, F&& f) const {
    threads.ParallelFor(shape.batch, GrainFor(16 * shape.gate_rows()), [&](int64_t b, int64_t end) {
      for (; b < end; ++b) {
        if (step >= LengthOf(b)) continue;
        f(b, gates + shape.InputRow(TimeOf(step, b), b) * shape.gate_rows());
      }
    });
  }
  int64_t TimeOf(int64_t step, int64_t b) const { return reverse ? LengthOf(b) - 1 - step : step; }
};

struct Rnn {
  static RecurrentKind Kind() { return {1, {"Tanh"}}; }

  template <typename T>
  static void Step(const Direction<T>& d, int64_t step) {
    const int64_t hidden = d.shape.hidden;
    d.MultiplyR(d.hidden, 0, hidden);
    d.ForEachActive(step, [&](int64_t b, const T* x) {
      for (int64_t k = 0; k < hidden; ++k)
        d.hidden[b * hidden + k] = d.Activate(0, x[k] + d.recurrent[b * hidden + k]);
    });
  }
};

struct Gru {
  static RecurrentKind Kind() { return {3, {"Sigmoid", "Tanh"}}; }

  template <typename T>
  static void Step(const Direction<T>& d, int64_t step) {
    const int64_t hidden = d.shape.hidden, rows = d.shape.gate_rows();
    d.MultiplyR(d.hidden, 0, d.linear_before_reset ? rows : 2 * hidden);
    d.ForEachActive(step, [&](int64_t b, const T* x) {
      T* gates = d.recurrent + b * rows;
      for (int64_t k = 0; k < 2 * hidden; ++k) gates[k] = d.Activate(0, x[k] + gates[k]);
      for (int64_t k = 0; k < hidden; ++k)
        d.reset[b * hidden + k] = gates[hidden + k] * d.hidden[b * hidden + k];
    });
    if (!d.linear_before_reset) d.MultiplyR(d.reset, 2 * hidden, rows);
    d.ForEachActive(step, [&](int64_t b, const T* x) { Finish(d, b, x); });
  }

  template <typename T>
  static void Finish(const Direction<T>& d, int64_t b, const T* x) {
    const int64_t hidden = d.shape.hidden, rows = d.shape.gate_rows();
    const T* gates = d.recurrent + b * rows;
    for (int64_t k = 0; k < hidden; ++k) {
      const T update = gates[k], reset = gates[hidden + k];
      T recurrent = gates[2 * hidden + k];
      if (d.linear_before_reset)
        recurrent = reset * (recurrent + (d.bias == nullptr ? 0 : d.bias[rows + 2 * hidden + k]));
      const T candidate = d.Activate(1, x[2 * hidden + k] + recurrent);
      T& h = d.hidden[b * hidden + k];
      h = (1 - update) * candidate + update * h;
    }
  }
};

struct Lstm {
  static RecurrentKind Kind() { return {4, {"Sigmoid", "Tanh", "Tanh"}}; }

  // Gates i, o, f, c; peepholes i, o, f.
  template <typename T>
  static void Step(const Direction<T>& d, int64_t step) {
    const int64_t hidden = d.shape.hidden, rows = d.shape.gate_rows();
    d.MultiplyR(d.hidden, 0, rows);
    d.ForEachActive(step, [&](int64_t b, const T* x) {
      const T* recurrent = d.recurrent + b * rows;
      for (int64_t k = 0; k < hidden; ++k) {
        const auto sum = [&](int64_t gate) {
          return x[gate * hidden + k] + recurrent[gate * hidden + k];
        };
        T& c = d.cell[b * hidden + k];
        const T input = d.Activate(0, sum(0) + d.PeepholeOf(0, k) * c);
        const T forget =
            d.couples_input_forget ? 1 - input : d.Activate(0, sum(2) + d.PeepholeOf(2, k) * c);
        c = forget * c + input * d.Activate(1, sum(3));
        const T output = d.Activate(0, sum(1) + d.PeepholeOf(1, k) * c);
        d.hidden[b * hidden + k] = output * d.Activate(2, c);
      }
    });
  }
};

// Sizes of a direction's buffers in elements, in the order of Direction.
struct Buffers {
  int64_t gates, recurrent, state;
  explicit Buffers(const RecurrentShape& s)
      : gates(s.steps * s.batch * s.gate_rows()),
        recurrent(s.batch * s.gate_rows()),
        state(s.batch * s.hidden) {}
  int64_t elements() const { return gates + recurrent + 3 * state; }
};

// The part of an operand for one direction; nullptr if it is absent.
template <typename T>
const T* Part(const ReferenceArgs& args, int input, int64_t direction, int64_t elements) {
  if (!args.has_in(input)) return nullptr;
  return static_cast<const T*>(args.in[input].data) + direction * elements;
}

template <typename T>
Direction<T> MakeDirection(const ReferenceArgs& args, const RecurrentShape& s, int64_t index,
                           absl::Span<const GateActivation> activations) {
  const Attrs& attrs = args.node.attrs();
  const Buffers buffers(s);
  T* memory = static_cast<T*>(args.workspace);
  T* recurrent = memory + buffers.gates;
  T* states = recurrent + buffers.recurrent;
  const size_t own = activations.size() / s.directions;
  return {.shape = s,
          .threads = args.threads,
          .r = Part<T>(args, kRecurrentR, index, s.gate_rows() * s.hidden),
          .bias = Part<T>(args, kRecurrentB, index, 2 * s.gate_rows()),
          .peepholes = Part<T>(args, kRecurrentP, index, 3 * s.hidden),
          .lengths = Part<int32_t>(args, kRecurrentLengths, 0, 0),
          .activations = activations.subspan(index * own, own),
          .clip = attrs.Float("clip", std::numeric_limits<float>::infinity()),
          .linear_before_reset = attrs.Int("linear_before_reset", 0) != 0,
          .couples_input_forget = attrs.Int("input_forget", 0) != 0,
          .reverse = index == 1 || s.first_is_reverse,
          .gates = memory,
          .recurrent = recurrent,
          .hidden = states,
          .cell = states + buffers.state,
          .reset = states + 2 * buffers.state};
}

// gates = x * W' + the biases, except those of r that GRU scales by its reset gate.
template <typename T>
void MultiplyInputs(const ReferenceArgs& args, const Direction<T>& d, int64_t index) {
  const RecurrentShape& s = d.shape;
  const int64_t rows = s.gate_rows(), count = s.steps * s.batch;
  const int64_t both = d.linear_before_reset ? 2 * s.hidden : rows;
  for (int64_t i = 0; d.bias != nullptr && i < count; ++i) {
    for (int64_t k = 0; k < rows; ++k)
      d.gates[i * rows + k] = d.bias[k] + (k < both ? d.bias[rows + k] : T{0});
  }
  Gemm(args.threads, GemmProblem<T>{.m = count,
                                    .n = rows,
                                    .k = s.input,
                                    .a = static_cast<const T*>(args.in[kRecurrentX].data),
                                    .lda = s.input,
                                    .b = Part<T>(args, kRecurrentW, index, rows * s.input),
                                    .ldb = s.input,
                                    .transpose_b = true,
                                    .c = d.gates,
                                    .ldc = rows,
                                    .beta = d.bias == nullptr ? T{0} : T{1}});
}

template <typename T>
void LoadState(const ReferenceArgs& args, int input, const RecurrentShape& s, int64_t index,
               T* state) {
  for (int64_t b = 0; b < s.batch; ++b, state += s.hidden) {
    if (args.has_in(input)) {
      std::copy_n(static_cast<const T*>(args.in[input].data) + s.StateAt(index, b), s.hidden,
                  state);
    } else {
      std::fill_n(state, s.hidden, T{0});
    }
  }
}

template <typename T>
void StoreState(const ReferenceArgs& args, size_t output, const RecurrentShape& s, int64_t index,
                const T* state) {
  if (!args.has_out(output)) return;
  for (int64_t b = 0; b < s.batch; ++b) {
    std::copy_n(state + b * s.hidden, s.hidden,
                static_cast<T*>(args.out[output].data) + s.StateAt(index, b));
  }
}

// y at this step for each sequence: its state, or 0 after its end.
template <typename T>
void StoreStep(const ReferenceArgs& args, const Direction<T>& d, int64_t index, int64_t step) {
  if (!args.has_out(0)) return;
  T* y = static_cast<T*>(args.out[0].data);
  const int64_t hidden = d.shape.hidden;
  for (int64_t b = 0; b < d.shape.batch; ++b) {
    if (step < d.LengthOf(b)) {
      std::copy_n(d.hidden + b * hidden, hidden, y + d.shape.OutputAt(d.TimeOf(step, b), index, b));
    } else {
      std::fill_n(y + d.shape.OutputAt(step, index, b), hidden, T{0});
    }
  }
}

template <typename Cell, typename T>
void RunDirection(const ReferenceArgs& args, const Direction<T>& d, int64_t index) {
  MultiplyInputs(args, d, index);
  LoadState(args, kRecurrentH, d.shape, index, d.hidden);
  LoadState(args, kRecurrentC, d.shape, index, d.cell);
  for (int64_t step = 0; step < d.shape.steps; ++step) {
    Cell::Step(d, step);
    StoreStep(args, d, index, step);
  }
  StoreState(args, 1, d.shape, index, d.hidden);
  StoreState(args, 2, d.shape, index, d.cell);
}

template <typename Cell>
absl::Status ReferenceRecurrent(const ReferenceArgs& args) {
  const RecurrentShape shape = RecurrentShapeOf(args.node, Cell::Kind());
  RETURN_IF_ERROR(CheckRecurrentDims(args, shape));
  RETURN_IF_ERROR(CheckExtents(shape.steps * shape.batch, shape.gate_rows(),
                               std::max(shape.input, shape.hidden)));
  ASSIGN_OR_RETURN(const std::vector<GateActivation> activations,
                   GateActivationsOf(args.node, Cell::Kind().activations, shape.directions));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    using T = decltype(type);
    for (int64_t index = 0; index < shape.directions; ++index)
      RunDirection<Cell>(args, MakeDirection<T>(args, shape, index, activations), index);
    return absl::OkStatus();
  });
}

template <typename Cell>
int64_t RecurrentWorkspace(const Node& node) {
  const Buffers buffers(RecurrentShapeOf(node, Cell::Kind()));
  return WidenedBytes(node) + BytesOf(WideType(node.input(0).dtype()), buffers.elements());
}

template <typename Cell>
Cost RecurrentCost(const Node& node) {
  const RecurrentShape s = RecurrentShapeOf(node, Cell::Kind());
  const int64_t steps = s.steps * s.directions, gates = steps * s.batch * s.gate_rows();
  const int64_t flops = 2 * gates * (s.input + s.hidden);
  return {.us = ScalarUs(gates),  // for the activations
          .flops = flops + 4 * gates,
          .bytes = IoBytes(node),
          .blas_flops = flops,
          .calls = 1 + steps};
}

template <typename Cell>
OpDef RecurrentOp() {
  return {.check = [](const Node& node) { return CheckRecurrent(node, Cell::Kind()); },
          .reference = Widened<ReferenceRecurrent<Cell>>,
          .workspace = RecurrentWorkspace<Cell>,
          .cost = RecurrentCost<Cell>};
}

}  // namespace

OpDef RNNOp() { return RecurrentOp<Rnn>(); }
OpDef GRUOp() { return RecurrentOp<Gru>(); }
OpDef LSTMOp() { return RecurrentOp<Lstm>(); }

}  // namespace onnx_cudnn
