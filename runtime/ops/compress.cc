#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/data_dependent.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {
namespace {

// Consecutive indices of an axis that are kept.
struct KeptIndices {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

std::vector<KeptIndices> KeptBy(absl::Span<const Bool> condition) {
  std::vector<KeptIndices> kept;
  const auto length = static_cast<int64_t>(condition.size());
  for (int64_t i = 0; i < length; ++i) {
    if (condition[i].byte == 0) continue;
    if (kept.empty() || kept.back().end != i) kept.push_back({i, i});
    kept.back().end = i + 1;
  }
  return kept;
}

// Calls copy(begin, count) for each stretch of elements of x[outer, extent, inner] that is kept.
template <typename Copy>
void ForEachStretch(const AxisView& view, const std::vector<KeptIndices>& kept, Copy copy) {
  for (int64_t outer = 0; outer < view.outer; ++outer) {
    for (const KeptIndices& indices : kept) {
      copy((outer * view.extent + indices.begin) * view.inner, indices.count() * view.inner);
    }
  }
}

HostTensor Kept(const HostTensor& x, Dims dims, const AxisView& view,
                const std::vector<KeptIndices>& kept) {
  if (x.dtype() == DType::kString) {
    std::vector<std::string> strings;
    strings.reserve(ElementsOf(dims));
    ForEachStretch(view, kept, [&](int64_t begin, int64_t count) {
      const auto from = x.strings().begin() + begin;
      strings.insert(strings.end(), from, from + count);
    });
    return HostTensor::Strings(std::move(dims), std::move(strings));
  }
  HostTensor y = HostTensor::Allocate(x.dtype(), std::move(dims));
  if (y.elements() == 0) return y;
  const int64_t bytes = ElementBytes(x.dtype());
  auto* to = static_cast<char*>(y.mutable_raw());
  ForEachStretch(view, kept, [&](int64_t begin, int64_t count) {
    std::memcpy(to, static_cast<const char*>(x.raw()) + begin * bytes, count * bytes);
    to += count * bytes;
  });
  return y;
}

}  // namespace

absl::StatusOr<HostTensor> ComputeCompress(const Node& node, absl::Span<const HostTensor> inputs) {
  const HostTensor &x = inputs[0], &condition = inputs[1];
  if (condition.dims().size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("condition is ",
                                                   ToString(absl::MakeConstSpan(condition.dims())),
                                                   ", expected a tensor of rank 1"));
  }
  const bool is_flat = !node.attrs().Has("axis");
  Dims dims = is_flat ? Dims{x.elements()} : x.dims();
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", 0), std::ssize(dims));
  const AxisView view = ViewAround(dims, axis);
  const std::vector<KeptIndices> kept = KeptBy(condition.data<Bool>());
  // As in numpy.compress, what is false may be longer.
  if (!kept.empty() && kept.back().end > view.extent) {
    return absl::InvalidArgumentError(
        absl::StrCat("condition is true at ", kept.back().end - 1, ", outside extent ", view.extent,
                     is_flat ? " of the flattened input" : absl::StrCat(" of axis ", axis)));
  }
  dims[axis] = 0;
  for (const KeptIndices& indices : kept) dims[axis] += indices.count();
  return Kept(x, std::move(dims), view, kept);
}

std::optional<int64_t> BoundOfCompress(const Node& node) {
  if (node.input(1).rank() != 1) return std::nullopt;
  return node.input(0).elements();
}

Support CheckCompress(const Node& node) {
  if (node.input(1).dtype() != DType::kBool) return Support::No("condition is not bool");
  const int rank = node.input(0).rank();
  if (rank == 0) return Support::No("the input is a scalar");
  return CheckAxis(node.attrs().Int("axis", 0), rank);
}

OpDef CompressOp() {
  return {.types = kFixedSizeTypes | DTypeSet{DType::kC64, DType::kC128, DType::kString},
          .check = CheckCompress,
          .evaluate = EvaluateDataDependent<ComputeCompress>,
          .traits = {.axis = AxisRange::kDims}};
}

}  // namespace onnx_cudnn
