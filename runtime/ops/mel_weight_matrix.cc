#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {
namespace {

double ToMel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double ToHertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

// The spectrogram bins at the edges of the triangles, which are equally spaced on the mel scale,
// clamped to [0, bins).
std::vector<int64_t> EdgeBins(double low, double high, int64_t triangles, int64_t dft_length,
                              int64_t sample_rate, int64_t bins) {
  const double step = (ToMel(high) - ToMel(low)) / static_cast<double>(triangles + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < triangles + 2; ++i) {
    const double hertz = ToHertz(ToMel(low) + static_cast<double>(i) * step);
    const double bin =
        std::floor(static_cast<double>(dft_length + 1) * hertz / static_cast<double>(sample_rate));
    edges.push_back(bin > 0 ? static_cast<int64_t>(std::min(bin, static_cast<double>(bins - 1)))
                            : 0);
  }
  return edges;
}

// The weight of bin `b` in the triangle with the given edges and peak. A side of zero width
// consists of the peak only.
double WeightOf(int64_t b, int64_t left, int64_t peak, int64_t right) {
  if (b == peak) return 1;
  if (b > left && b < peak) return static_cast<double>(b - left) / static_cast<double>(peak - left);
  if (b > peak && b < right)
    return static_cast<double>(right - b) / static_cast<double>(right - peak);
  return 0;
}

absl::Status ReferenceMelWeightMatrix(const ReferenceArgs& args) {
  const MutableTensorRef& out = args.out[0];
  int64_t sizes[3];
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(sizes[i], ScalarOf(args.in[i], "a size"));
  }
  const auto [triangles, dft_length, sample_rate] = sizes;
  if (triangles < 0 || dft_length < 0 || sample_rate < 1)
    return absl::InvalidArgumentError("num_mel_bins, dft_length or sample_rate is out of range");
  const int64_t bins = dft_length / 2 + 1;
  RETURN_IF_ERROR(ExpectDims("output", out.dims, {bins, triangles}));
  double edges_hertz[2];
  for (int i = 0; i < 2; ++i) {
    if (args.in[3 + i].elements() != 1)
      return absl::InvalidArgumentError("an edge has not one element");
    VisitElementType(args.in[3 + i].dtype, [&](auto element) {
      edges_hertz[i] = Widen<double>(args.in[3 + i].as<decltype(element)>()[0]);
    });
  }
  const std::vector<int64_t> edges =
      EdgeBins(edges_hertz[0], edges_hertz[1], triangles, dft_length, sample_rate, bins);
  VisitElementType(out.dtype, [&](auto element) {
    using E = decltype(element);
    for (int64_t i = 0; i < out.elements(); ++i) {
      const int64_t bin = i / triangles, t = i % triangles;
      static_cast<E*>(out.data)[i] = Narrow<E>(WeightOf(bin, edges[t], edges[t + 1], edges[t + 2]));
    }
  });
  return absl::OkStatus();
}

Support CheckMelWeightMatrix(const Node& node) {
  for (int i = 0; i < 5; ++i) {
    const DType dtype = node.input(i).dtype();
    const bool integer = dtype == DType::kI32 || dtype == DType::kI64;
    if (i < 3 ? !integer : !kFloatTypes.Has(dtype))
      return Support::No(absl::StrCat("input ", i, " is ", NameOf(dtype)));
  }
  if (kNumberTypes.Has(node.output(0).dtype())) return Support::Yes();
  return Support::No(absl::StrCat("an output of ", NameOf(node.output(0).dtype())));
}

}  // namespace

OpDef MelWeightMatrixOp() {
  return {.types = {DType::kI32, DType::kI64},
          .check = CheckMelWeightMatrix,
          .reference = ReferenceMelWeightMatrix,
          .cost = [](const Node& n) {
            return Cost{.flops = 8 * n.output(0).elements(), .bytes = IoBytes(n)};
          }};
}

}  // namespace onnx_cudnn
