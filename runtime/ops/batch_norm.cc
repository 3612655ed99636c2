#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/sums.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

bool IsTraining(const Node& node) { return node.attrs().Int("training_mode", 0) != 0; }

// x[images, channels, size]; a vector is one channel.
struct Planes {
  int64_t images, channels, size;

  explicit Planes(absl::Span<const int64_t> dims)
      : images(dims[0]),
        channels(dims.size() < 2 ? 1 : dims[1]),
        size(ElementsOf(dims.subspan(dims.size() < 2 ? 1 : 2))) {}
};

// Mean and population variance of each channel.
struct Moments {
  std::vector<double> mean, variance;
};

template <typename T>
Moments InputMoments(const ReferenceArgs& args) {
  const absl::Span<const T> mean = args.in[3].as<T>(), variance = args.in[4].as<T>();
  return {{mean.begin(), mean.end()}, {variance.begin(), variance.end()}};
}

template <typename T>
Moments MomentsOf(const ReferenceArgs& args, const Planes& planes) {
  const T* x = static_cast<const T*>(args.in[0].data);
  const auto population = static_cast<double>(planes.images * planes.size);
  Moments moments{std::vector<double>(planes.channels), std::vector<double>(planes.channels)};
  const auto sum = [&](int64_t channel, auto term) {
    double total = 0;
    for (int64_t image = 0; image < planes.images; ++image) {
      total += SumOf(x + (image * planes.channels + channel) * planes.size, planes.size, term);
    }
    return total;
  };
  const int64_t grain = GrainFor(4 * planes.images * planes.size);
  args.threads.ParallelFor(planes.channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const double mean = sum(c, [](double v) { return v; }) / population;
      moments.mean[c] = mean;
      moments.variance[c] =
          sum(c, [mean](double v) { return (v - mean) * (v - mean); }) / population;
    }
  });
  return moments;
}

// Output `i`, a running statistic: input `i` + 2, moved towards the statistic of the batch.
template <typename T>
void Move(const ReferenceArgs& args, size_t i, const std::vector<double>& batch) {
  if (!args.has_out(i)) return;
  const double momentum = args.node.attrs().Float("momentum", 0.9f);
  const absl::Span<const T> running = args.in[i + 2].as<T>();
  const absl::Span<T> moved = args.out[i].as<T>();
  for (size_t c = 0; c < moved.size(); ++c) {
    moved[c] = static_cast<T>(running[c] * momentum + batch[c] * (1 - momentum));
  }
}

// y = (x - mean) * scale / sqrt(variance + epsilon) + bias, by channel.
template <typename T>
void Normalize(const ReferenceArgs& args, const Planes& planes, const Moments& moments) {
  const T* x = static_cast<const T*>(args.in[0].data);
  const T *scale = static_cast<const T*>(args.in[1].data),
          *bias = static_cast<const T*>(args.in[2].data);
  T* y = static_cast<T*>(args.out[0].data);
  const double epsilon = args.node.attrs().Float("epsilon", 1e-5f);
  const int64_t size = planes.size, channels = planes.channels;
  const auto normalize = [&](int64_t plane) {
    const int64_t c = plane % channels;
    const double factor = scale[c] / std::sqrt(moments.variance[c] + epsilon);
    const T a = static_cast<T>(factor), b = static_cast<T>(bias[c] - moments.mean[c] * factor);
    for (int64_t i = plane * size; i < (plane + 1) * size; ++i) y[i] = x[i] * a + b;
  };
  args.threads.ParallelFor(planes.images * channels, GrainFor(size),
                           [&](int64_t begin, int64_t end) {
                             for (int64_t plane = begin; plane < end; ++plane) normalize(plane);
                           });
}

template <typename T>
void Run(const ReferenceArgs& args) {
  const Planes planes(args.in[0].dims);
  const bool is_training = IsTraining(args.node);
  const Moments moments = is_training ? MomentsOf<T>(args, planes) : InputMoments<T>(args);
  if (args.has_out(0)) Normalize<T>(args, planes, moments);
  if (!is_training) return;
  Move<T>(args, 1, moments.mean);
  Move<T>(args, 2, moments.variance);
}

absl::Status ReferenceBatchNormalization(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  if (args.has_out(0)) RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  const int64_t channels = dims.size() < 2 ? 1 : dims[1];
  for (int i = 1; i < 5; ++i)
    RETURN_IF_ERROR(ExpectDims("a statistic or factor", args.in[i].dims, {channels}));
  for (size_t i = 1; i < args.out.size(); ++i) {
    if (args.has_out(i)) RETURN_IF_ERROR(ExpectDims("output", args.out[i].dims, {channels}));
  }
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    Run<decltype(type)>(args);
    return absl::OkStatus();
  });
}

Support CheckBatchNormalization(const Node& node) {
  if (node.input(0).rank() < 1) return Support::No("input is a scalar");
  for (int i = 1; i < 5; ++i) {
    if (WideType(node.input(i).dtype()) == WideType(node.input(0).dtype())) continue;
    return Support::No(absl::StrFormat("input %d is %s, input 0 is %s", i,
                                       NameOf(node.input(i).dtype()),
                                       NameOf(node.input(0).dtype())));
  }
  return Support::Yes();
}

Cost BatchNormalizationCost(const Node& node) {
  const int64_t of_element = IsTraining(node) ? 6 : 2;
  return {.flops = of_element * node.input(0).elements(), .bytes = IoBytes(node)};
}

}  // namespace

OpDef BatchNormalizationOp() {
  return WidenedOp<ReferenceBatchNormalization>({.check = CheckBatchNormalization,
                                                 .cost = BatchNormalizationCost,
                                                 .traits = {.anchor = true}});
}

}  // namespace onnx_cudnn
