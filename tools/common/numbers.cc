#include "tools/common/numbers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

// Returns false if it is not a number or E cannot represent it. Floats are rounded.
template <typename E>
bool Parse(std::string_view text, E& element) {
  NumberOf<E> number;
  if constexpr (std::is_integral_v<NumberOf<E>>) {
    if (!absl::SimpleAtoi(text, &number)) return false;
    element = Narrow<E>(number);
    return Widen<NumberOf<E>>(element) == number;
  } else {
    double given;
    if (!absl::SimpleAtod(text, &given)) return false;
    element = Narrow<E>(given);
    return std::isfinite(Widen<double>(element)) || !std::isfinite(given);
  }
}

absl::StatusOr<Dims> FillDims(const ValueInfo& info, Dims dims, int64_t count) {
  if (!info.ranked && dims.empty()) return Dims{count};
  int64_t known = 1;
  for (const int64_t dim : dims) known *= std::max<int64_t>(dim, 1);
  const auto unknown = std::find_if(dims.begin(), dims.end(), [](int64_t d) { return d < 0; });
  const bool is_open = unknown != dims.end() && known > 0 && count % known == 0;
  if (is_open) *unknown = count / known;
  std::replace_if(
      dims.begin(), dims.end(), [](int64_t d) { return d < 0; }, 1);
  if (ElementsOf(dims) == count) return dims;
  return absl::InvalidArgumentError(
      absl::StrFormat("expected numbers for %s, found %d", ToString(info), count));
}

}  // namespace

absl::StatusOr<HostTensor> NumbersToTensor(std::string_view text, const ValueInfo& info,
                                           Dims dims) {
  if (!kFixedSizeTypes.Has(info.dtype)) {
    return absl::UnimplementedError(
        absl::StrCat("no numbers of dtype ", NameOf(info.dtype), ", give a file"));
  }
  const std::vector<std::string_view> parts = absl::StrSplit(text, ',');
  ASSIGN_OR_RETURN(dims, FillDims(info, std::move(dims), static_cast<int64_t>(parts.size())));
  HostTensor tensor = HostTensor::Allocate(info.dtype, std::move(dims));
  return VisitElementType(info.dtype, [&](auto tag) -> absl::StatusOr<HostTensor> {
    using E = decltype(tag);
    E* elements = static_cast<E*>(tensor.mutable_raw());
    for (size_t i = 0; i < parts.size(); ++i) {
      if (Parse(parts[i], elements[i])) continue;
      return absl::InvalidArgumentError(
          absl::StrFormat("\"%s\" is no %s", parts[i], NameOf(info.dtype)));
    }
    return tensor;
  });
}

}  // namespace onnx_cudnn
