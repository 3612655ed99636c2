#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

std::string ModeOf(const Node& node) { return node.attrs().String("mode", "constant"); }

Support CheckPad(const Node& node) {
  const std::string mode = ModeOf(node);
  if (mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap")
    return Support::Yes();
  return Support::No(absl::StrCat("mode \"", mode, "\" is unknown"));
}

constexpr int64_t kMostPad = int64_t{1} << 48;  // so that sums with extents cannot overflow

// Elements added (or removed, if negative) at both ends of every axis.
struct Pads {
  std::vector<int64_t> begin, end;
};

absl::StatusOr<Pads> PadsOf(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  const std::vector<int64_t> values = IntsOf(args.in[1]);
  const int64_t count = values.size() / 2;
  if (values.size() % 2 != 0)
    return absl::InvalidArgumentError(absl::StrCat(values.size(), " pads, expected pairs"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, AxesOf(args, 3, dims.size(), count));
  Pads pads{std::vector<int64_t>(dims.size(), 0), std::vector<int64_t>(dims.size(), 0)};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = values[i], end = values[count + i], extent = dims[axes[i]];
    if (std::max(begin, end) > kMostPad) {
      return absl::InvalidArgumentError(
          absl::StrCat("pads ", begin, " and ", end, " of axis ", axes[i], " exceed ", kMostPad));
    }
    if (std::min(begin, end) < -extent ||
        std::min<int64_t>(begin, 0) + std::min<int64_t>(end, 0) < -extent) {
      return absl::InvalidArgumentError(absl::StrCat(
          "pads ", begin, " and ", end, " remove more than extent ", extent, " of axis ", axes[i]));
    }
    pads.begin[axes[i]] = begin;
    pads.end[axes[i]] = end;
  }
  return pads;
}

absl::Status CheckOutput(const ReferenceArgs& args, const Pads& pads) {
  Dims dims(args.in[0].dims.begin(), args.in[0].dims.end());
  for (size_t a = 0; a < dims.size(); ++a) {
    dims[a] += pads.begin[a] + pads.end[a];
  }
  return ExpectDims("output", args.out[0].dims, dims);
}

void PadConstant(const ReferenceArgs& args, const Pads& pads) {
  const TensorRef& in = args.in[0];
  const MutableTensorRef& out = args.out[0];
  const int bytes = ElementBytes(in.dtype);
  const uint64_t zero[2] = {};
  const std::vector<int64_t> from = RowMajorStrides(in.dims), to = RowMajorStrides(out.dims);
  std::vector<CopyAxis> axes;
  int64_t kept = 1, first_from = 0, first_to = 0;
  for (size_t a = 0; a < from.size(); ++a) {
    const int64_t skipped = std::max<int64_t>(-pads.begin[a], 0);
    const int64_t extent = in.dims[a] - skipped + std::min<int64_t>(pads.end[a], 0);
    first_from += skipped * from[a];
    first_to += std::max<int64_t>(pads.begin[a], 0) * to[a];
    axes.push_back({extent, from[a], to[a]});
    kept *= extent;
  }
  if (kept != out.elements()) {
    FillElements(out.data, args.has_in(2) ? args.in[2].data : zero, bytes, out.elements(),
                 args.threads);
  }
  if (kept == 0) return;
  StridedCopy(static_cast<const char*>(in.data) + first_from * bytes,
              static_cast<char*>(out.data) + first_to * bytes, bytes, std::move(axes),
              args.threads);
}

// The element of an axis of `extent` ≥ 1 that is copied to position i outside it.
int64_t Reflected(int64_t i, int64_t extent) {
  if (extent == 1) return 0;
  const int64_t period = 2 * (extent - 1);
  i = (i % period + period) % period;
  return i < extent ? i : period - i;
}
int64_t SourceOf(const std::string& mode, int64_t i, int64_t extent) {
  if (mode == "reflect") return Reflected(i, extent);
  if (mode == "edge") return std::clamp<int64_t>(i, 0, extent - 1);
  return (i % extent + extent) % extent;
}

// Every output element is an input element, located axis by axis.
absl::Status PadMirrored(const ReferenceArgs& args, const Pads& pads) {
  const TensorRef& in = args.in[0];
  const MutableTensorRef& out = args.out[0];
  if (out.elements() == 0) return absl::OkStatus();
  if (in.elements() == 0)
    return absl::InvalidArgumentError("an empty input has no element to repeat");
  const std::vector<int64_t> strides = RowMajorStrides(in.dims);
  const int64_t rank = out.dims.size();
  std::vector<std::vector<int64_t>> offsets(rank);  // offset in the input, by axis and output index
  for (int64_t a = 0; a < rank; ++a) {
    for (int64_t i = 0; i < out.dims[a]; ++i) {
      offsets[a].push_back(SourceOf(ModeOf(args.node), i - pads.begin[a], in.dims[a]) * strides[a]);
    }
  }
  if (rank == 0) offsets.push_back({0});
  const std::vector<int64_t>& inner = offsets.back();
  const int64_t row = inner.size();
  VisitElementSize(ElementBytes(in.dtype), [&](auto element) {
    using E = decltype(element);
    args.threads.ParallelFor(out.elements() / row, 1 + 16384 / row, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        int64_t start = 0;
        for (int64_t a = rank - 2, rest = i; a >= 0; rest /= out.dims[a--])
          start += offsets[a][rest % out.dims[a]];
        E* to = static_cast<E*>(out.data) + i * row;
        const E* from = static_cast<const E*>(in.data) + start;
        for (int64_t j = 0; j < row; ++j) to[j] = from[inner[j]];
      }
    });
  });
  return absl::OkStatus();
}

absl::Status ReferencePad(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const Pads pads, PadsOf(args));
  RETURN_IF_ERROR(CheckOutput(args, pads));
  if (args.has_in(2) && args.in[2].elements() != 1) {
    return absl::InvalidArgumentError("constant_value has not one element");
  }
  if (ModeOf(args.node) != "constant") return PadMirrored(args, pads);
  PadConstant(args, pads);
  return absl::OkStatus();
}

}  // namespace

OpDef PadOp() {
  return {.types = kMovableTypes,
          .check = CheckPad,
          .reference = ReferencePad,
          .traits = {.moves_bytes = true, .keeps_range = true}};
}

}  // namespace onnx_cudnn
