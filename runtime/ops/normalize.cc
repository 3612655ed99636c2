// Normalizations by statistics of the input itself. Sums are formed in double.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/strided_axes.h"
#include "runtime/ops/sums.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

struct Moments {
  double mean, inverse;  // 1 / sqrt(variance + epsilon)
};

template <typename T>
Moments MomentsOf(const T* x, int64_t n, double epsilon) {
  const double mean = SumOf(x, n) / static_cast<double>(n);
  const double squares = SumOf(x, n, [mean](double v) { return (v - mean) * (v - mean); });
  return {mean, 1 / std::sqrt(squares / static_cast<double>(n) + epsilon)};
}

// Calls f(row) on the pool's threads for rows of `columns` elements.
template <typename F>
void ForEachRow(const ReferenceArgs& args, int64_t rows, int64_t columns, F&& f) {
  args.threads.ParallelFor(rows, GrainFor(4 * columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row);
  });
}

template <typename T>
const T* Data(const ReferenceArgs& args, size_t i) {
  return args.has_in(i) ? static_cast<const T*>(args.in[i].data) : nullptr;
}

// Groups of channels share their statistics; scale and bias are per channel. InstanceNormalization
// has one group per channel.
template <typename T>
void NormalizeGroups(const ReferenceArgs& args, int64_t groups) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  const int64_t channels = dims[1], of_group = channels / groups,
                size = ElementsOf(dims.subspan(2));
  const T *x = Data<T>(args, 0), *scale = Data<T>(args, 1), *bias = Data<T>(args, 2);
  T* y = static_cast<T*>(args.out[0].data);
  const double epsilon = args.node.attrs().Float("epsilon", 1e-5f);
  ForEachRow(args, dims[0] * groups, of_group * size, [&](int64_t row) {
    const Moments m = MomentsOf(x + row * of_group * size, of_group * size, epsilon);
    for (int64_t i = 0; i < of_group; ++i) {
      const int64_t plane = row * of_group + i, c = plane % channels;
      const double factor = scale[c] * m.inverse;
      const T a = static_cast<T>(factor), b = static_cast<T>(bias[c] - m.mean * factor);
      for (int64_t j = plane * size; j < (plane + 1) * size; ++j) y[j] = x[j] * a + b;
    }
  });
}

absl::Status GroupStatus(const ReferenceArgs& args, int64_t groups) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  RETURN_IF_ERROR(ExpectDims("scale", args.in[1].dims, {dims[1]}));
  RETURN_IF_ERROR(ExpectDims("bias", args.in[2].dims, {dims[1]}));
  if (groups > 0 && dims[1] % groups != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%d channels are not a multiple of %d groups", dims[1], groups));
  }
  if (ElementsOf(dims) == 0) return absl::OkStatus();
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    NormalizeGroups<decltype(type)>(args, groups);
    return absl::OkStatus();
  });
}

absl::Status ReferenceInstanceNormalization(const ReferenceArgs& args) {
  return GroupStatus(args, args.in[0].dims[1]);
}
absl::Status ReferenceGroupNormalization(const ReferenceArgs& args) {
  return GroupStatus(args, args.node.attrs().Int("num_groups", 1));
}

// The positions of the elements of a factor that broadcasts to the input.
struct Factor {
  StridedAxes rows;
  std::vector<int64_t> columns;  // within a row; empty: consecutive
};

// The factors of a row; stored in `copy` unless they are consecutive.
template <typename T>
const T* FactorsOf(const Factor& factor, const T* data, int64_t row, std::vector<T>& copy) {
  const T* factors = data + factor.rows.OffsetOf(row);
  if (factor.columns.empty()) return factors;
  for (int64_t offset : factor.columns) copy.push_back(factors[offset]);
  return copy.data();
}

absl::StatusOr<Factor> FactorOf(const char* what, const TensorRef& factor,
                                absl::Span<const int64_t> dims, int64_t axis) {
  absl::Span<const int64_t> own = factor.dims;
  while (own.size() > dims.size() && own.front() == 1) own.remove_prefix(1);
  const size_t missing = dims.size() - std::min(own.size(), dims.size());
  bool fits = own.size() <= dims.size();
  Factor spread;
  StridedAxes columns;
  for (size_t a = missing; fits && a < dims.size(); ++a) {
    const int64_t extent = own[a - missing];
    fits = extent == 1 || extent == dims[a];
    StridedAxes& axes = static_cast<int64_t>(a) < axis ? spread.rows : columns;
    axes.Add(dims[a], extent == 1 ? 0 : ElementsOf(own.subspan(a - missing + 1)));
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrFormat("%s is %s, which does not broadcast to %s",
                                                      what, ToString(factor.dims), ToString(dims)));
  }
  const int64_t count = ElementsOf(dims.subspan(axis));
  const size_t first = std::max<int64_t>(axis - static_cast<int64_t>(missing), 0);
  if (ElementsOf(own.subspan(first)) == count) return spread;
  for (int64_t i = 0; i < count; ++i) spread.columns.push_back(columns.OffsetOf(i));
  return spread;
}

struct LayerShape {
  int64_t rows, columns;
  Factor scale, bias = {};
};

absl::StatusOr<LayerShape> LayerShapeOf(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  const int64_t axis =
      NormalizedAxis(args.node.attrs().Int("axis", -1), static_cast<int64_t>(dims.size()));
  LayerShape shape = {
      .rows = ElementsOf(dims.first(axis)), .columns = ElementsOf(dims.subspan(axis)), .scale = {}};
  ASSIGN_OR_RETURN(shape.scale, FactorOf("scale", args.in[1], dims, axis));
  if (args.has_in(2)) {
    ASSIGN_OR_RETURN(shape.bias, FactorOf("bias", args.in[2], dims, axis));
  }
  for (size_t i = 1; i < args.out.size(); ++i) {
    if (!args.has_out(i) || args.out[i].elements() == shape.rows) continue;
    return absl::InvalidArgumentError(absl::StrFormat("output %d is %s, expected %d elements", i,
                                                      ToString(args.out[i].dims), shape.rows));
  }
  return shape;
}

template <typename T>
void WriteStatistic(const ReferenceArgs& args, size_t i, int64_t row, double value) {
  if (args.has_out(i)) static_cast<float*>(args.out[i].data)[row] = static_cast<float>(value);
}

template <typename T>
void NormalizeLayers(const ReferenceArgs& args, const LayerShape& shape) {
  const T *x = Data<T>(args, 0), *scale = Data<T>(args, 1), *bias = Data<T>(args, 2);
  T* y = static_cast<T*>(args.out[0].data);
  const double epsilon = args.node.attrs().Float("epsilon", 1e-5f);
  ForEachRow(args, shape.rows, shape.columns, [&](int64_t row) {
    const T* in = x + row * shape.columns;
    T* out = y + row * shape.columns;
    const Moments m = MomentsOf(in, shape.columns, epsilon);
    WriteStatistic<T>(args, 1, row, m.mean);
    WriteStatistic<T>(args, 2, row, m.inverse);
    std::vector<T> copies[2];
    const T* factors = FactorsOf(shape.scale, scale, row, copies[0]);
    const T* terms = bias == nullptr ? nullptr : FactorsOf(shape.bias, bias, row, copies[1]);
    for (int64_t i = 0; i < shape.columns; ++i) {
      const double normal = (in[i] - m.mean) * m.inverse;
      out[i] = static_cast<T>(normal * factors[i] + (terms == nullptr ? 0 : terms[i]));
    }
  });
}

absl::Status ReferenceLayerNormalization(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const LayerShape shape, LayerShapeOf(args));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    NormalizeLayers<decltype(type)>(args, shape);
    return absl::OkStatus();
  });
}

template <typename T>
void NormalizeByRootMeanSquare(const ReferenceArgs& args, const LayerShape& shape) {
  const T *x = Data<T>(args, 0), *scale = Data<T>(args, 1);
  T* y = static_cast<T*>(args.out[0].data);
  const double epsilon = args.node.attrs().Float("epsilon", 1e-5f);
  ForEachRow(args, shape.rows, shape.columns, [&](int64_t row) {
    const T* in = x + row * shape.columns;
    const double squares = SumOf(in, shape.columns, [](double v) { return v * v; });
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(shape.columns) + epsilon);
    std::vector<T> copy;
    const T* factors = FactorsOf(shape.scale, scale, row, copy);
    for (int64_t i = 0; i < shape.columns; ++i) {
      y[row * shape.columns + i] = static_cast<T>(in[i] * inverse * factors[i]);
    }
  });
}

absl::Status ReferenceRMSNormalization(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const LayerShape shape, LayerShapeOf(args));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    NormalizeByRootMeanSquare<decltype(type)>(args, shape);
    return absl::OkStatus();
  });
}

// As ONNX defines it: the small number is added to the deviation, not to the variance.
constexpr double kDeviationEpsilon = 1e-9;

template <typename T>
void NormalizeAxes(const ReferenceArgs& args, const AxisSplit& split) {
  const T* x = Data<T>(args, 0);
  T* y = static_cast<T*>(args.out[0].data);
  const int64_t n = split.reduced.count();
  ForEachRow(args, split.kept.count(), 8 * n, [&](int64_t row) {
    const int64_t base = split.kept.OffsetOf(row);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[base + split.reduced.OffsetOf(i)];
    const double mean = sum / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) {
      const double deviation = x[base + split.reduced.OffsetOf(i)] - mean;
      squares += deviation * deviation;
    }
    const double deviation = std::sqrt(squares / static_cast<double>(n)) + kDeviationEpsilon;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = base + split.reduced.OffsetOf(i);
      y[at] = static_cast<T>((x[at] - mean) / deviation);
    }
  });
}

absl::Status ReferenceMeanVarianceNormalization(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  std::vector<uint8_t> reduced(dims.size(), 0);
  for (int64_t axis : args.node.attrs().Ints("axes", {0, 2, 3})) {
    reduced[NormalizedAxis(axis, static_cast<int64_t>(dims.size()))] = 1;
  }
  const AxisSplit split = SplitAxes(dims, reduced);
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    NormalizeAxes<decltype(type)>(args, split);
    return absl::OkStatus();
  });
}

template <typename T>
void NormalizeByNorm(const ReferenceArgs& args, const AxisView& view, bool squares) {
  const T* x = Data<T>(args, 0);
  T* y = static_cast<T*>(args.out[0].data);
  ForEachRow(args, view.outer * view.inner, view.extent, [&](int64_t row) {
    const int64_t base = row / view.inner * view.extent * view.inner + row % view.inner;
    double norm = 0;
    for (int64_t i = 0; i < view.extent; ++i) {
      const double v = x[base + i * view.inner];
      norm += squares ? v * v : std::abs(v);
    }
    if (squares) norm = std::sqrt(norm);
    for (int64_t i = 0; i < view.extent; ++i) {
      const int64_t at = base + i * view.inner;
      y[at] = norm == 0 ? T{0} : static_cast<T>(x[at] / norm);
    }
  });
}

absl::Status ReferenceLpNormalization(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  const int64_t axis =
      NormalizedAxis(args.node.attrs().Int("axis", -1), static_cast<int64_t>(dims.size()));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    NormalizeByNorm<decltype(type)>(args, ViewAround(dims, axis),
                                    args.node.attrs().Int("p", 2) == 2);
    return absl::OkStatus();
  });
}

Support CheckInstanceNormalization(const Node& node) {
  if (node.input(0).rank() < 2)
    return Support::No(
        absl::StrFormat("input has rank %d, expected 2 or more", node.input(0).rank()));
  return CheckSameDType(node, 3);
}

Support CheckGroupNormalization(const Node& node) {
  const int64_t groups = node.attrs().Int("num_groups", 0);
  if (groups < 1) return Support::No(absl::StrFormat("num_groups is %d", groups));
  return CheckInstanceNormalization(node);
}

Support CheckLayerNormalization(const Node& node) {
  for (int i = 1; i < 3; ++i) {
    if (node.has_output(i) && WideType(node.output(i).dtype()) != DType::kF32) {
      return Support::No(absl::StrFormat("output %d is %s", i, NameOf(node.output(i).dtype())));
    }
  }
  if (Support s = CheckSameDType(node, 3); !s) return s;
  return CheckAxis(node.attrs().Int("axis", -1), node.input(0).rank());
}

Support CheckRMSNormalization(const Node& node) {
  if (WideType(node.input(1).dtype()) != WideType(node.input(0).dtype())) {
    return Support::No(absl::StrFormat("scale is %s", NameOf(node.input(1).dtype())));
  }
  return CheckAxis(node.attrs().Int("axis", -1), node.input(0).rank());
}

Support CheckMeanVarianceNormalization(const Node& node) {
  for (int64_t axis : node.attrs().Ints("axes", {0, 2, 3})) {
    if (Support s = CheckAxis(axis, node.input(0).rank()); !s) return s;
  }
  return Support::Yes();
}

Support CheckLpNormalization(const Node& node) {
  const int64_t p = node.attrs().Int("p", 2);
  if (p != 1 && p != 2) return Support::No(absl::StrFormat("p is %d, expected 1 or 2", p));
  return CheckAxis(node.attrs().Int("axis", -1), node.input(0).rank());
}

Cost NormalizeCost(const Node& node) {
  return {.flops = 6 * node.output(0).elements(), .bytes = IoBytes(node)};
}

template <Reference kReference>
OpDef Normalization(Support (*check)(const Node&), OpTraits traits) {
  return WidenedOp<kReference>({.check = check, .cost = NormalizeCost, .traits = traits});
}

constexpr OpTraits kPlanes = {.computes_in_f32 = true, .anchor = true};
constexpr OpTraits kAlongAxis = {.computes_in_f32 = true, .anchor = true, .axis = AxisRange::kDims};

}  // namespace

OpDef InstanceNormalizationOp() {
  return Normalization<ReferenceInstanceNormalization>(CheckInstanceNormalization, kPlanes);
}
OpDef GroupNormalizationOp() {
  return Normalization<ReferenceGroupNormalization>(CheckGroupNormalization, kPlanes);
}
OpDef LayerNormalizationOp() {
  return Normalization<ReferenceLayerNormalization>(CheckLayerNormalization, kAlongAxis);
}
OpDef RMSNormalizationOp() {
  return Normalization<ReferenceRMSNormalization>(CheckRMSNormalization, kAlongAxis);
}
OpDef MeanVarianceNormalizationOp() {
  return Normalization<ReferenceMeanVarianceNormalization>(CheckMeanVarianceNormalization,
                                                           {.computes_in_f32 = true});
}
OpDef LpNormalizationOp() {
  return Normalization<ReferenceLpNormalization>(CheckLpNormalization, kAlongAxis);
}

}  // namespace onnx_cudnn
