#include "runtime/graph/inverse_type.h"

#include "absl/strings/str_cat.h"
#include "runtime/graph/custom_op.h"

namespace onnx_cudnn {

bool IsInverse(const Node& node) {
  return node.domain() == kMicrosoftDomain && node.op() == "Inverse" &&
         FindCustomOp(node) == nullptr;
}

absl::StatusOr<Type> InverseType(const Node& node) {
  const Type& type = node.input(0).type();
  if (!type.is_tensor() || !type.ranked) return type;
  const size_t rank = type.dims.size();
  const auto extent = [&](size_t from_back) { return type.dims[rank - from_back].value; };
  const bool may_be_square =
      rank >= 2 && (extent(1) == extent(2) || extent(1) < 0 || extent(2) < 0);
  if (may_be_square) return type;
  return absl::InvalidArgumentError(
      absl::StrCat("X is ", ToString(type), ", expected square matrices"));
}

}  // namespace onnx_cudnn
