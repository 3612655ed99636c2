#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

// A total order in which NaN is above all numbers.
template <typename T>
bool Below(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return false;
    if (b != b) return true;
  }
  return a < b;
}

// The first k entries of `order` become the indices of the k best elements, best first, lower
// indices first among equals.
template <typename T>
void SelectBest(const T* x, int64_t step, int64_t k, bool largest, std::vector<int64_t>& order) {
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int64_t i, int64_t j) {
    const T a = x[i * step], b = x[j * step];
    if (largest ? Below(b, a) : Below(a, b)) return true;
    if (largest ? Below(a, b) : Below(b, a)) return false;
    return i < j;
  };
  std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
}

template <typename T>
void SelectAll(const ReferenceArgs& args, const AxisView& view, int64_t k) {
  const T* x = static_cast<const T*>(args.in[0].data);
  T* values = args.has_out(0) ? static_cast<T*>(args.out[0].data) : nullptr;
  int64_t* indices = args.has_out(1) ? static_cast<int64_t*>(args.out[1].data) : nullptr;
  const bool largest = args.node.attrs().Int("largest", 1) != 0;
  args.threads.ParallelFor(
      view.outer * view.inner, GrainFor(8 * view.extent), [&](int64_t begin, int64_t end) {
        std::vector<int64_t> order(view.extent);
        for (int64_t column = begin; column < end; ++column) {
          const int64_t outer = column / view.inner, inner = column % view.inner;
          const T* from = x + outer * view.extent * view.inner + inner;
          SelectBest(from, view.inner, k, largest, order);
          for (int64_t i = 0; i < k; ++i) {
            const int64_t at = (outer * k + i) * view.inner + inner;
            if (values != nullptr) values[at] = from[order[i] * view.inner];
            if (indices != nullptr) indices[at] = order[i];
          }
        }
      });
}

absl::Status ReferenceTopK(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  const int64_t axis =
      NormalizedAxis(args.node.attrs().Int("axis", -1), static_cast<int64_t>(dims.size()));
  if (args.in[1].elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("K is %s, expected one element", ToString(args.in[1].dims)));
  }
  const int64_t k = args.in[1].as<int64_t>()[0];
  if (k < 0 || k > dims[axis]) {
    return absl::InvalidArgumentError(
        absl::StrFormat("K is %d, axis %d has extent %d", k, axis, dims[axis]));
  }
  Dims expected(dims.begin(), dims.end());
  expected[axis] = k;
  for (size_t i = 0; i < args.out.size(); ++i) {
    if (args.has_out(i)) RETURN_IF_ERROR(ExpectDims("output", args.out[i].dims, expected));
  }
  return DispatchNumber(args.in[0].dtype, [&](auto type) {
    SelectAll<decltype(type)>(args, ViewAround(dims, axis), k);
    return absl::OkStatus();
  });
}

Support CheckTopK(const Node& node) {
  if (node.input(1).dtype() != DType::kI64) return Support::No("K is not i64");
  return CheckAxis(node.attrs().Int("axis", -1), node.input(0).rank());
}

// Every element is compared; in random order only few enter the heap of k.
Cost TopKCost(const Node& node) {
  const Value& y = node.has_output(0) ? node.output(0) : node.output(1);
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", -1), y.rank());
  const int64_t depth = std::bit_width(static_cast<uint64_t>(y.dim(axis)));
  return {.flops = 8 * (node.input(0).elements() + 2 * depth * y.elements()),
          .bytes = IoBytes(node)};
}

}  // namespace

OpDef TopKOp() {
  return WidenedOp<ReferenceTopK>({.types = kNumberTypes,
                                   .check = CheckTopK,
                                   .cost = TopKCost,
                                   .traits = {.axis = AxisRange::kDims}});
}

}  // namespace onnx_cudnn
