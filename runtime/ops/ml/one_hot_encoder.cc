#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/ml_types.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/ml/lookup.h"
#include "runtime/ops/ml/rows.h"
#include "runtime/ops/scalar_us.h"

namespace onnx_cudnn {
namespace {

using Strings = std::vector<std::string>;

// The categories; numbers are found among the integers only.
HostTensor CategoriesOf(const Node& node) {
  const auto* strings = node.attrs().Get<Strings>("cats_strings");
  if (strings == nullptr) return HostTensor::Ints(IntsOf(node.attrs(), "cats_int64s"));
  return HostTensor::Strings({std::ssize(*strings)}, *strings);
}

// Numbers rounded toward zero.
HostTensor Categorical(const HostTensor& x) {
  if (x.dtype() == DType::kString || x.dtype() == DType::kI64) return x;
  std::vector<int64_t> storage;
  const auto ints = NumbersAs<int64_t>({x.dtype(), x.dims(), x.raw()}, storage);
  return HostTensor::Of<int64_t>(DType::kI64, x.dims(), ints);
}

// The one is that of the last of equal categories.
absl::StatusOr<HostTensor> Encoded(const Node& node, const HostTensor& x) {
  const HostTensor categories = CategoriesOf(node);
  const Lookup lookup(categories, Lookup::Repeated::kLast);
  const std::vector<int64_t> indices = lookup.IndicesOf(Categorical(x));
  Dims dims = x.dims();
  dims.push_back(categories.elements());
  HostTensor y = HostTensor::Allocate(DType::kF32, std::move(dims));
  const absl::Span<float> out = y.mutable_data<float>();
  std::fill(out.begin(), out.end(), 0.0F);
  const bool may_be_zeros = node.attrs().Int("zeros", 1) != 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= 0) {
      out[static_cast<int64_t>(i) * categories.elements() + indices[i]] = 1;
    } else if (!may_be_zeros) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i, " of X is none of the categories"));
    }
  }
  return y;
}

absl::Status Reference(const ReferenceArgs& args) {
  const TensorRef& x = args.in[0];
  const HostTensor borrowed =
      HostTensor::Borrow(x.dtype, Dims(x.dims.begin(), x.dims.end()), x.data, nullptr);
  ASSIGN_OR_RETURN(const HostTensor y, Encoded(args.node, borrowed));
  RETURN_IF_ERROR(ExpectDims("Y", args.out[0].dims, y.dims()));
  std::memcpy(args.out[0].data, y.raw(), y.bytes());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> EvaluateOneHot(const Node& node) {
  ASSIGN_OR_RETURN(HostTensor y, Encoded(node, node.input(0).constant()));
  return std::vector<HostTensor>{std::move(y)};
}

}  // namespace

OpDef OneHotEncoderOp() {
  OpDef op = MlOp(nullptr, Reference, [](const Node& node) -> Cost {
    return {.us = ScalarUs(4 * node.input(0).elements()), .bytes = IoBytes(node)};
  });
  op.types = kMlNumbers | DTypeSet{DType::kString};
  op.evaluate = EvaluateOneHot;
  return op;
}

}  // namespace onnx_cudnn
