#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/ops/checks.h"
#include "runtime/ops/data_dependent.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

// The form in which an element is compared.
template <typename E>
auto KeyOf(const E& element) {
  if constexpr (std::is_same_v<E, std::string>) {
    return std::string_view(element);
  } else if constexpr (std::is_same_v<E, Bool>) {
    return element.byte != 0;
  } else if constexpr (kIsHalf<E>) {
    return ToFloat(element);
  } else {
    return element;
  }
}
template <typename E>
using Key = decltype(KeyOf(std::declval<const E&>()));

// Below 0, 0 or above 0, in a total order: NaN is above all numbers and equals NaN, as in NumPy.
template <typename K>
int Compare(const K& a, const K& b) {
  if constexpr (std::is_floating_point_v<K>) {
    if (a != a || b != b) return (a != a) - (b != b);
  }
  return (a > b) - (a < b);
}

// Slices i of x[outer, i, inner], compared element by element.
template <typename E>
int CompareSlices(const E* x, const AxisView& view, int64_t i, int64_t j) {
  for (int64_t outer = 0; outer < view.outer; ++outer) {
    const E* a = x + (outer * view.extent + i) * view.inner;
    const E* b = x + (outer * view.extent + j) * view.inner;
    for (int64_t k = 0; k < view.inner; ++k) {
      if (const int order = Compare(KeyOf(a[k]), KeyOf(b[k])); order != 0) return order;
    }
  }
  return 0;
}

// A slice and its first element, which decides most comparisons.
template <typename E>
struct SliceKey {
  Key<E> first = {};
  int64_t index = 0;
};

// For each slice, the place of its value among the distinct ones in ascending order.
template <typename E>
std::vector<int64_t> PlacesOf(const E* x, const AxisView& view) {
  const int64_t elements = view.outer * view.inner;
  std::vector<SliceKey<E>> slices(view.extent);
  for (int64_t i = 0; i < view.extent; ++i) {
    slices[i].index = i;
    if (elements > 0) slices[i].first = KeyOf(x[i * view.inner]);
  }
  const auto compare = [&](const SliceKey<E>& a, const SliceKey<E>& b) {
    const int order = Compare(a.first, b.first);
    return order != 0 || elements <= 1 ? order : CompareSlices(x, view, a.index, b.index);
  };
  std::sort(slices.begin(), slices.end(),
            [&](const auto& a, const auto& b) { return compare(a, b) < 0; });
  std::vector<int64_t> places(view.extent);
  int64_t place = 0;
  for (int64_t i = 0; i < view.extent; ++i) {
    if (i > 0 && compare(slices[i - 1], slices[i]) != 0) ++place;
    places[slices[i].index] = place;
  }
  return places;
}

// Replaces each number by how many others occur before its first occurrence.
void NumberByOccurrence(std::vector<int64_t>& numbers) {
  std::vector<int64_t> renumbered(numbers.size(), -1);
  int64_t next = 0;
  for (int64_t& number : numbers) {
    if (renumbered[number] < 0) renumbered[number] = next++;
    number = renumbered[number];
  }
}

// The slices `indices` of x[outer, extent, inner], as a tensor of `dims`.
template <typename E>
HostTensor SlicesAt(const E* x, const AxisView& view, const std::vector<int64_t>& indices,
                    DType dtype, Dims dims) {
  const auto copy_to = [&](E* to) {
    for (int64_t outer = 0; outer < view.outer; ++outer) {
      for (const int64_t i : indices) {
        to = std::copy_n(x + (outer * view.extent + i) * view.inner, view.inner, to);
      }
    }
  };
  if constexpr (std::is_same_v<E, std::string>) {
    std::vector<std::string> strings(ElementsOf(dims));
    copy_to(strings.data());
    return HostTensor::Strings(std::move(dims), std::move(strings));
  } else {
    HostTensor y = HostTensor::Allocate(dtype, std::move(dims));
    copy_to(static_cast<E*>(y.mutable_raw()));
    return y;
  }
}

template <typename E>
std::vector<HostTensor> UniqueOf(const Node& node, const HostTensor& input, const E* x) {
  const bool is_flat = !node.attrs().Has("axis");
  Dims dims = is_flat ? Dims{input.elements()} : input.dims();
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", 0), std::ssize(dims));
  const AxisView view = ViewAround(dims, axis);
  std::vector<int64_t> inverse = PlacesOf(x, view);
  if (node.attrs().Int("sorted", 1) == 0) NumberByOccurrence(inverse);
  dims[axis] = inverse.empty() ? 0 : *std::max_element(inverse.begin(), inverse.end()) + 1;
  std::vector<int64_t> indices(dims[axis]), counts(dims[axis], 0);
  for (int64_t i = 0; i < view.extent; ++i) {
    if (counts[inverse[i]]++ == 0) indices[inverse[i]] = i;
  }
  return {SlicesAt(x, view, indices, input.dtype(), std::move(dims)), HostTensor::Ints(indices),
          HostTensor::Ints(inverse), HostTensor::Ints(counts)};
}

absl::StatusOr<std::vector<HostTensor>> EvaluateUnique(const Node& node) {
  std::vector<HostTensor> outputs = ComputeUnique(node, node.input(0).constant());
  outputs.resize(node.outputs().size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!node.has_output(static_cast<int>(i))) outputs[i] = HostTensor();
  }
  return outputs;
}

}  // namespace

std::vector<HostTensor> ComputeUnique(const Node& node, const HostTensor& x) {
  if (x.dtype() == DType::kString) return UniqueOf(node, x, x.strings().data());
  return VisitElementType(x.dtype(), [&](auto element) {
    return UniqueOf(node, x, static_cast<const decltype(element)*>(x.raw()));
  });
}

AxisView SlicesOfUnique(const Node& node) {
  const Value& x = node.input(0);
  if (!node.attrs().Has("axis")) return {.extent = x.elements()};
  return ViewAround(x.dims(), NormalizedAxis(node.attrs().Int("axis", 0), x.rank()));
}

std::optional<int64_t> BoundOfUnique(const Node& node) { return node.input(0).elements(); }

Support CheckUnique(const Node& node) {
  if (!node.attrs().Has("axis")) return Support::Yes();
  return CheckAxis(node.attrs().Int("axis", 0), node.input(0).rank());
}

OpDef UniqueOp() {
  return {.types = kFixedSizeTypes | DTypeSet{DType::kString},
          .check = CheckUnique,
          .evaluate = EvaluateUnique,
          .traits = {.axis = AxisRange::kDims}};
}

}  // namespace onnx_cudnn
