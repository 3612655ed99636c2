// DFT and STFT.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/fourier.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

using Complex = Fourier::Complex;

// Element i of a tensor whose last axis holds the real part only, or both parts of a number.
template <typename T>
Complex LoadComplex(const T* data, int64_t parts, int64_t i) {
  return {data[i * parts], parts == 1 ? T{0} : data[i * parts + 1]};
}
template <typename T>
void StoreComplex(const Complex& number, T* data, int64_t parts, int64_t i) {
  data[i * parts] = static_cast<T>(number.real());
  if (parts == 2) data[i * parts + 1] = static_cast<T>(number.imag());
}

bool IsInverse(const Node& node) { return node.attrs().Int("inverse", 0) != 0; }
bool IsOneSided(const Node& node, int64_t otherwise) {
  return node.attrs().Int("onesided", otherwise) != 0;
}
int64_t Bins(int64_t length, bool one_sided) { return one_sided ? length / 2 + 1 : length; }

// Checks a transform length for a tensor with `elements` elements along the axis.
absl::Status CheckLength(int64_t length, int64_t elements) {
  if (length >= 1 && length <= elements) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("length ", length, " is not within [1, ", elements, "]"));
}

absl::StatusOr<int64_t> AxisOf(const ReferenceArgs& args) {
  const int64_t rank = static_cast<int64_t>(args.in[0].dims.size());
  int64_t axis = -2;
  if (args.has_in(2)) {
    ASSIGN_OR_RETURN(axis, ScalarOf(args.in[2], "axis"));
  }
  if (axis < -rank || axis > rank - 2 || axis == -1)
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " of rank ", rank));
  return NormalizedAxis(axis, rank);
}

// Completes the spectrum of a real signal from its first half.
void Mirror(std::vector<Complex>& spectrum) {
  const int64_t n = static_cast<int64_t>(spectrum.size());
  for (int64_t k = n / 2 + 1; k < n; ++k) spectrum[k] = std::conj(spectrum[n - k]);
}

template <typename T>
void TransformLines(const ReferenceArgs& args, int64_t axis, const Fourier& fourier) {
  const absl::Span<const int64_t> in = args.in[0].dims, out = args.out[0].dims;
  const AxisView view = ViewAround(in.first(in.size() - 1), axis);
  const T* x = static_cast<const T*>(args.in[0].data);
  T* y = static_cast<T*>(args.out[0].data);
  const bool mirrors = IsInverse(args.node) && IsOneSided(args.node, 0);
  const int64_t n = fourier.length(), given = std::min(view.extent, mirrors ? Bins(n, true) : n);
  args.threads.ParallelFor(view.outer * view.inner, GrainFor(64 * n), [&](int64_t i, int64_t end) {
    std::vector<Complex> line(n), result(n);
    for (; i < end; ++i) {
      const int64_t outer = i / view.inner, inner = i % view.inner;
      std::fill(line.begin(), line.end(), Complex(0));
      for (int64_t k = 0; k < given; ++k)
        line[k] = LoadComplex(x, in.back(), (outer * view.extent + k) * view.inner + inner);
      if (mirrors) Mirror(line);
      fourier.Transform(line.data(), result.data());
      for (int64_t k = 0; k < out[axis]; ++k)
        StoreComplex(result[k], y, out.back(), (outer * out[axis] + k) * view.inner + inner);
    }
  });
}

absl::Status ReferenceDFT(const ReferenceArgs& args) {
  const absl::Span<const int64_t> in = args.in[0].dims;
  ASSIGN_OR_RETURN(const int64_t axis, AxisOf(args));
  const bool inverse = IsInverse(args.node), one_sided = IsOneSided(args.node, 0);
  int64_t length = inverse && one_sided ? 2 * (in[axis] - 1) : in[axis];
  if (args.has_in(1)) {
    ASSIGN_OR_RETURN(length, ScalarOf(args.in[1], "dft_length"));
  }
  RETURN_IF_ERROR(CheckLength(length, 2 * args.out[0].dims[axis]));
  Dims dims(in.begin(), in.end());
  dims[axis] = Bins(length, one_sided && !inverse);
  dims.back() = one_sided && inverse ? 1 : 2;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  const Fourier fourier(length, inverse);
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    TransformLines<decltype(type)>(args, axis, fourier);
    return absl::OkStatus();
  });
}

// The division of a signal [batch, length, 1 or 2] into frames.
struct Frames {
  int64_t step = 1, length = 1, count = 0;
};

absl::StatusOr<Frames> FramesOf(const ReferenceArgs& args) {
  const int64_t signal = args.in[0].dims[1];
  Frames frames;
  ASSIGN_OR_RETURN(frames.step, ScalarOf(args.in[1], "frame_step"));
  frames.length = args.has_in(2) ? args.in[2].elements() : signal;
  if (args.has_in(3)) {
    ASSIGN_OR_RETURN(frames.length, ScalarOf(args.in[3], "frame_length"));
  }
  if (frames.step < 1)
    return absl::InvalidArgumentError(absl::StrCat("frame_step is ", frames.step));
  RETURN_IF_ERROR(CheckLength(frames.length, signal));
  if (args.has_in(2)) RETURN_IF_ERROR(ExpectDims("window", args.in[2].dims, {frames.length}));
  frames.count = (signal - frames.length) / frames.step + 1;
  return frames;
}

template <typename T>
void TransformFrames(const ReferenceArgs& args, const Frames& frames, int64_t bins) {
  const int64_t signal = args.in[0].dims[1], parts = args.in[0].dims[2];
  const T* x = static_cast<const T*>(args.in[0].data);
  const T* window = args.has_in(2) ? static_cast<const T*>(args.in[2].data) : nullptr;
  T* y = static_cast<T*>(args.out[0].data);
  const Fourier fourier(frames.length, /*inverse=*/false);
  const int64_t work = 64 * frames.length;
  args.threads.ParallelFor(
      args.in[0].dims[0] * frames.count, GrainFor(work), [&](int64_t i, int64_t end) {
        std::vector<Complex> frame(frames.length), result(frames.length);
        for (; i < end; ++i) {
          const int64_t first = i / frames.count * signal + i % frames.count * frames.step;
          for (int64_t k = 0; k < frames.length; ++k) {
            const double factor = window == nullptr ? 1 : window[k];
            frame[k] = LoadComplex(x, parts, first + k) * factor;
          }
          fourier.Transform(frame.data(), result.data());
          for (int64_t k = 0; k < bins; ++k) StoreComplex(result[k], y, 2, i * bins + k);
        }
      });
}

absl::Status ReferenceSTFT(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const Frames frames, FramesOf(args));
  const int64_t bins = Bins(frames.length, IsOneSided(args.node, 1));
  RETURN_IF_ERROR(
      ExpectDims("output", args.out[0].dims, {args.in[0].dims[0], frames.count, bins, 2}));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    TransformFrames<decltype(type)>(args, frames, bins);
    return absl::OkStatus();
  });
}

Support CheckParts(const Node& node) {
  const Value& x = node.input(0);
  const int64_t parts = x.rank() < 2 ? 0 : x.dim(x.rank() - 1);
  if (parts == 1 || parts == 2) return Support::Yes();
  return Support::No("the last axis of the input is not known to hold 1 or 2 parts");
}

Support CheckSTFT(const Node& node) {
  if (node.input(0).rank() != 3)
    return Support::No(absl::StrCat("signal has rank ", node.input(0).rank(), ", expected 3"));
  if (node.has_input(2) && node.input(2).dtype() != node.input(0).dtype())
    return Support::No(absl::StrCat("window is ", NameOf(node.input(2).dtype())));
  return CheckParts(node);
}

Cost DFTCost(const Node& node) {
  const Value &x = node.input(0), &y = node.output(0);
  const int64_t axis = NormalizedAxis(ConstantOr(node, 2, -2), x.rank());
  if (axis < 0 || axis >= x.rank() || x.elements() == 0) return {.bytes = IoBytes(node)};
  const int64_t extent = x.dim(static_cast<int>(axis)), bins = y.dim(static_cast<int>(axis));
  const bool mirrors = IsInverse(node) && IsOneSided(node, 0);
  const int64_t length = ConstantOr(node, 1, mirrors ? 2 * (extent - 1) : extent);
  if (!CheckLength(length, 2 * bins).ok()) return {.bytes = IoBytes(node)};
  const int64_t lines = x.elements() / (extent * x.dim(x.rank() - 1));
  return {.flops = lines * Fourier::Flops(length), .bytes = IoBytes(node)};
}

Cost STFTCost(const Node& node) {
  const Value &signal = node.input(0), &y = node.output(0);
  const int64_t bins = y.dim(2), whole = IsOneSided(node, 1) ? 2 * (bins - 1) : bins;
  const int64_t length = ConstantOr(node, 3, node.has_input(2) ? node.input(2).elements() : whole);
  if (!CheckLength(length, signal.dim(1)).ok()) return {.bytes = IoBytes(node)};
  return {.flops = y.dim(0) * y.dim(1) * (2 * length + Fourier::Flops(length)),
          .bytes = IoBytes(node)};
}

}  // namespace

OpDef DFTOp() { return WidenedOp<ReferenceDFT>({.check = CheckParts, .cost = DFTCost}); }
OpDef STFTOp() { return WidenedOp<ReferenceSTFT>({.check = CheckSTFT, .cost = STFTCost}); }

}  // namespace onnx_cudnn
