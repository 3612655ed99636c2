// Tensors filled by a rule: ConstantOfShape, EyeLike, OneHot, Range.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/range_length.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

Support CheckConstantOfShape(const Node& node) {
  if (!kPackedTypes.Has(node.output(0).dtype())) {
    return Support::No(
        absl::StrCat("a fill of ", NameOf(node.output(0).dtype()), " is not implemented"));
  }
  const HostTensor* value = node.attrs().Get<HostTensor>("value");
  const DType dtype = value == nullptr ? DType::kF32 : value->dtype();
  if (value != nullptr && value->elements() != 1) return Support::No("value has not one element");
  return dtype == node.output(0).dtype() ? Support::Yes()
                                         : Support::No("the output is not of value's type");
}

// Every byte contains as many copies of `code` as fit; zeros follow the last element.
void FillPacked(const MutableTensorRef& out, unsigned code) {
  const int bits = BitsOf(out.dtype);
  unsigned byte = 0;
  for (int at = 0; at < 8; at += bits) byte |= (code & ((1u << bits) - 1)) << at;
  auto* bytes = static_cast<uint8_t*>(out.data);
  std::memset(bytes, static_cast<int>(byte), out.bytes());
  const int64_t rest = out.elements() * bits % 8;
  if (rest != 0) bytes[out.bytes() - 1] &= static_cast<uint8_t>((1 << rest) - 1);
}

absl::Status ReferenceConstantOfShape(const ReferenceArgs& args) {
  const MutableTensorRef& out = args.out[0];
  RETURN_IF_ERROR(ExpectDims("output", out.dims, args.in[0].as<int64_t>()));
  const HostTensor* value = args.node.attrs().Get<HostTensor>("value");
  if (BitsOf(out.dtype) < 8) {  // without a value the type is f32
    FillPacked(out, *static_cast<const uint8_t*>(value->raw()));
    return absl::OkStatus();
  }
  const uint64_t zero[2] = {};
  FillElements(out.data, value == nullptr ? zero : value->raw(), ElementBytes(out.dtype),
               out.elements(), args.threads);
  return absl::OkStatus();
}

Support CheckEyeLike(const Node& node) {
  if (node.input(0).rank() != 2)
    return Support::No(absl::StrCat("rank ", node.input(0).rank(), " is not 2"));
  if (kFixedSizeTypes.Has(node.output(0).dtype())) return Support::Yes();
  return Support::No(
      absl::StrCat("an output of ", NameOf(node.output(0).dtype()), " is not implemented"));
}

absl::Status ReferenceEyeLike(const ReferenceArgs& args) {
  const MutableTensorRef& out = args.out[0];
  RETURN_IF_ERROR(ExpectDims("output", out.dims, args.in[0].dims));
  const int64_t k = std::clamp<int64_t>(args.node.attrs().Int("k", 0), -out.dims[0], out.dims[1]);
  std::memset(out.data, 0, out.bytes());
  VisitElementType(out.dtype, [&](auto element) {
    using E = decltype(element);
    for (int64_t row = std::max<int64_t>(0, -k); row < out.dims[0] && row + k < out.dims[1];
         ++row) {
      static_cast<E*>(out.data)[row * out.dims[1] + row + k] = Narrow<E>(1.0F);
    }
  });
  return absl::OkStatus();
}

Support CheckOneHot(const Node& node) {
  if (!kNumberTypes.Has(node.input(1).dtype())) return Support::No("depth is not a number");
  if (!kMovableTypes.Has(node.output(0).dtype())) {
    return Support::No(
        absl::StrCat("values of ", NameOf(node.output(0).dtype()), " are not implemented"));
  }
  return CheckAxis(node.attrs().Int("axis", -1), node.input(0).rank() + 1);
}

// Numbers of any type, truncated toward zero.
std::vector<int64_t> Truncated(const TensorRef& tensor) {
  std::vector<int64_t> numbers;
  VisitElementType(tensor.dtype, [&](auto element) {
    for (auto e : tensor.as<decltype(element)>()) numbers.push_back(Widen<int64_t>(e));
  });
  return numbers;
}

absl::Status ReferenceOneHot(const ReferenceArgs& args) {
  const MutableTensorRef& out = args.out[0];
  const int64_t axis = NormalizedAxis(args.node.attrs().Int("axis", -1), out.dims.size());
  const std::vector<int64_t> indices = Truncated(args.in[0]), depths = Truncated(args.in[1]);
  if (depths.size() != 1) return absl::InvalidArgumentError("depth has not one element");
  Dims dims(args.in[0].dims.begin(), args.in[0].dims.end());
  dims.insert(dims.begin() + axis, depths[0]);
  RETURN_IF_ERROR(ExpectDims("output", out.dims, dims));
  RETURN_IF_ERROR(ExpectDims("values", args.in[2].dims, {2}));
  const AxisView view = ViewAround(out.dims, axis);
  const int bytes = ElementBytes(out.dtype);
  FillElements(out.data, args.in[2].data, bytes, out.elements(), args.threads);
  VisitElementSize(bytes, [&](auto element) {
    using E = decltype(element);
    const E on = static_cast<const E*>(args.in[2].data)[1];
    for (int64_t i = 0; i < static_cast<int64_t>(indices.size()); ++i) {
      const int64_t index = indices[i] < 0 ? indices[i] + view.extent : indices[i];
      if (index < 0 || index >= view.extent) continue;  // all off, as the standard requires
      const int64_t outer = i / view.inner, inner = i % view.inner;
      static_cast<E*>(out.data)[(outer * view.extent + index) * view.inner + inner] = on;
    }
  });
  return absl::OkStatus();
}

Support CheckRange(const Node& node) { return CheckSameDType(node, 3); }

template <typename T>
void FillRange(T start, T delta, const MutableTensorRef& out) {
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;  // the last sum may wrap
  VisitElementType(out.dtype, [&](auto element) {
    using E = decltype(element);
    for (int64_t i = 0; i < out.dims[0]; ++i) {
      const Wide value = static_cast<Wide>(start) + static_cast<Wide>(i) * static_cast<Wide>(delta);
      static_cast<E*>(out.data)[i] = Narrow<E>(static_cast<T>(value));
    }
  });
}

absl::Status ReferenceRange(const ReferenceArgs& args) {
  for (const TensorRef& in : args.in) {
    if (in.elements() != 1)
      return absl::InvalidArgumentError("start, limit or delta has not one element");
  }
  return VisitElementType(args.out[0].dtype, [&](auto element) -> absl::Status {
    using E = decltype(element);
    // 16-bit floats are summed in float (stash_type 1), f32 in double for accuracy.
    using T = std::conditional_t<kIsHalf<E>, float,
                                 std::conditional_t<std::is_same_v<E, float>, double, NumberOf<E>>>;
    const auto number = [&](int i) { return Widen<T>(args.in[i].as<E>()[0]); };
    ASSIGN_OR_RETURN(const int64_t count, RangeLength<T>(number(0), number(1), number(2)));
    RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, {count}));
    FillRange<T>(number(0), number(2), args.out[0]);
    return absl::OkStatus();
  });
}

}  // namespace

OpDef ConstantOfShapeOp() {
  return {
      .types = {DType::kI64}, .check = CheckConstantOfShape, .reference = ReferenceConstantOfShape};
}
OpDef EyeLikeOp() {
  return {.types = kFixedSizeTypes, .check = CheckEyeLike, .reference = ReferenceEyeLike};
}
OpDef OneHotOp() {
  return {.types = kNumberTypes,
          .check = CheckOneHot,
          .reference = ReferenceOneHot,
          .traits = {.axis = AxisRange::kNewDim}};
}
OpDef RangeOp() {
  return {.types = kFloatTypes | DTypeSet{DType::kI16, DType::kI32, DType::kI64},
          .check = CheckRange,
          .reference = ReferenceRange};
}

}  // namespace onnx_cudnn
