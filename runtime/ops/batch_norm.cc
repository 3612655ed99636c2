#include <cmath>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

// y = (x - mean) * scale / sqrt(variance + epsilon) + bias, by channel.
template <typename T>
void Normalize(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  const int64_t channels = dims.size() < 2 ? 1 : dims[1],
                size = ElementsOf(dims.subspan(dims.size() < 2 ? 1 : 2));
  const T* x = static_cast<const T*>(args.in[0].data);
  const T *scale = static_cast<const T*>(args.in[1].data),
          *bias = static_cast<const T*>(args.in[2].data),
          *mean = static_cast<const T*>(args.in[3].data),
          *variance = static_cast<const T*>(args.in[4].data);
  T* y = static_cast<T*>(args.out[0].data);
  const double epsilon = args.node.attrs().Float("epsilon", 1e-5f);
  args.threads.ParallelFor(dims[0] * channels, GrainFor(size), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t c = plane % channels;
      const double factor = scale[c] / std::sqrt(variance[c] + epsilon);
      const T a = static_cast<T>(factor), b = static_cast<T>(bias[c] - mean[c] * factor);
      for (int64_t i = plane * size; i < (plane + 1) * size; ++i) y[i] = x[i] * a + b;
    }
  });
}

absl::Status ReferenceBatchNormalization(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  const int64_t channels = dims.size() < 2 ? 1 : dims[1];
  for (int i = 1; i < 5; ++i)
    RETURN_IF_ERROR(ExpectDims("a statistic or factor", args.in[i].dims, {channels}));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    Normalize<decltype(type)>(args);
    return absl::OkStatus();
  });
}

Support CheckBatchNormalization(const Node& node) {
  if (node.attrs().Int("training_mode", 0) != 0)
    return Support::No("training_mode is not implemented");
  if (node.has_output(1) || node.has_output(2))
    return Support::No("running statistics are not implemented");
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
  return {.flops = 2 * node.output(0).elements(), .bytes = IoBytes(node)};
}

}  // namespace

OpDef BatchNormalizationOp() {
  return {.type = "BatchNormalization",
          .since = {15},
          .check = CheckBatchNormalization,
          .reference = Widened<ReferenceBatchNormalization>,
          .workspace = WidenedBytes,
          .cost = BatchNormalizationCost};
}

}  // namespace onnx_cudnn
