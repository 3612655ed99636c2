#include "passes/rewrite/utils/broadcast.h"

#include <algorithm>

#include "passes/rewrite/utils/float_constants.h"

namespace onnx_cudnn {

bool BroadcastsInto(const Value& value, const Value& into) {
  if (!value.type().is_tensor() || !value.type().ranked) return false;
  if (value.rank() == 0) return true;
  if (!into.type().is_tensor() || !into.type().ranked || value.rank() > into.rank()) return false;
  const int missing = into.rank() - value.rank();
  for (int i = 0; i < value.rank(); ++i) {
    const int64_t extent = value.dim(i);
    if (extent != 1 && (extent < 0 || extent != into.dim(i + missing))) return false;
  }
  return true;
}

std::optional<double> NumberInto(const Value& value, const Value& into) {
  if (!value.is_constant() || !kNumberTypes.Has(value.dtype())) return std::nullopt;
  if (value.constant().elements() != 1 || !BroadcastsInto(value, into)) return std::nullopt;
  return ToDoubles(value.constant())[0];
}

bool VariesAlongOneAxis(const HostTensor& tensor) {
  const Dims& dims = tensor.dims();
  return std::count_if(dims.begin(), dims.end(), [](int64_t extent) { return extent != 1; }) <= 1;
}

}  // namespace onnx_cudnn
