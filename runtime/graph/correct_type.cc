#include "runtime/graph/correct_type.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/float16.h"
#include "runtime/graph/range_length.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kHalfTypes = {DType::kF16, DType::kBF16};

bool IsRanked(const Node& node, int input) {
  return node.has_input(input) && node.input(input).type().is_tensor() &&
         node.input(input).type().ranked;
}

// With auto_pad the output is as long as the strides reach, regardless of output_padding. An
// output_shape is valid even if ONNX's function considers it too small.
absl::Status CorrectConvTranspose(const Node& node, Type& type) {
  if (!IsRanked(node, 0) || !type.ranked || type.dims.size() < 2) return absl::OkStatus();
  const std::vector<Dim>& in = node.input(0).type().dims;
  const std::vector<int64_t> stated = node.attrs().Ints("output_shape");
  const std::vector<int64_t> strides =
      node.attrs().Ints("strides", std::vector<int64_t>(in.size() - 2, 1));
  const std::string auto_pad = node.attrs().String("auto_pad", "NOTSET");
  if (!stated.empty()) {
    type.dims.resize(2);
    for (int64_t extent : stated) type.dims.push_back({.value = extent});
  } else if (auto_pad.starts_with("SAME_")) {
    for (size_t i = 2; i < in.size(); ++i) {
      if (in[i].value < 0) continue;
      Dim out;
      if (__builtin_mul_overflow(in[i].value, strides[i - 2], &out.value)) {
        return absl::InvalidArgumentError(
            absl::StrCat("extent ", in[i].value, " times stride ", strides[i - 2], " overflows"));
      }
      type.dims[i] = out;
    }
  }
  return absl::OkStatus();
}

// Without dims ONNX's function does not set a shape at all.
void CorrectGatherND(const Node& node, Type& type) {
  if (type.ranked || !IsRanked(node, 0) || !IsRanked(node, 1)) return;
  const Value& data = node.input(0);
  const Value& indices = node.input(1);
  if (indices.rank() != 1 || indices.dim(0) < 0) return;
  type.ranked = indices.dim(0) == data.rank();
}

// ONNX's function leaves every dim unknown if no axis is padded.
void CorrectPad(const Node& node, absl::FunctionRef<const HostTensor*(const Value&)> constant,
                Type& type) {
  if (!IsRanked(node, 0) || !node.has_input(3)) return;
  const HostTensor* axes = constant(node.input(3));
  if (axes != nullptr && axes->elements() == 0) type = node.input(0).type();
}

// ONNX's function assigns the rest to the last part, even if it is negative.
absl::Status CheckSplit(const Node& node) {
  const int64_t parts = node.attrs().Int("num_outputs", 0);
  if (!IsRanked(node, 0) || node.has_input(1) || parts < 1) return absl::OkStatus();
  const Value& x = node.input(0);
  const int64_t axis = node.attrs().Int("axis", 0);
  const int64_t extent = x.dim(static_cast<int>(axis < 0 ? axis + x.rank() : axis));
  const int64_t part = extent / parts + (extent % parts != 0 ? 1 : 0);
  if (extent <= 0 || extent - part * (parts - 1) >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("num_outputs is ", parts, ", of axis ", axis,
                                                 " of ", ToString(x.type()), " there are fewer"));
}

// ONNX's function does not read output_shape.
absl::Status CorrectMaxUnpool(const Node& node,
                              absl::FunctionRef<const HostTensor*(const Value&)> constant,
                              Type& type) {
  const HostTensor* shape = node.has_input(2) ? constant(node.input(2)) : nullptr;
  if (shape == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ToInts(*shape));
  type.ranked = true;
  type.dims.clear();
  for (const int64_t extent : dims) type.dims.push_back({.value = extent});
  return absl::OkStatus();
}

// ONNX's function leaves extents of 0 unknown.
absl::Status CorrectResize(const Node& node,
                           absl::FunctionRef<const HostTensor*(const Value&)> constant,
                           Type& type) {
  const HostTensor* sizes = node.has_input(3) ? constant(node.input(3)) : nullptr;
  if (sizes == nullptr || sizes->elements() == 0 || !node.input(0).is_static())
    return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<int64_t> extents, ToInts(*sizes));
  if (std::any_of(extents.begin(), extents.end(), [](int64_t extent) { return extent < 0; })) {
    return absl::InvalidArgumentError(
        absl::StrCat("sizes are ", ToString(absl::MakeConstSpan(extents))));
  }
  for (Dim& dim : type.dims) {
    if (dim.value < 0) dim = {.value = 0};
  }
  return absl::OkStatus();
}

template <typename T>
T ElementOf(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF16:
      return static_cast<T>(ToFloat(tensor.data<Float16>()[0]));
    case DType::kBF16:
      return static_cast<T>(ToFloat(tensor.data<BFloat16>()[0]));
    case DType::kF32:
      return static_cast<T>(tensor.data<float>()[0]);
    case DType::kF64:
      return static_cast<T>(tensor.data<double>()[0]);
    case DType::kI16:
      return static_cast<T>(tensor.data<int16_t>()[0]);
    case DType::kI32:
      return static_cast<T>(tensor.data<int32_t>()[0]);
    default:
      return static_cast<T>(tensor.data<int64_t>()[0]);
  }
}

// ONNX's function does not read a depth of 16-bit float type.
void CorrectOneHot(const Node& node, absl::FunctionRef<const HostTensor*(const Value&)> constant,
                   Type& type) {
  const HostTensor* depth = node.has_input(1) ? constant(node.input(1)) : nullptr;
  if (depth == nullptr || depth->elements() != 1 || !kHalfTypes.Has(depth->dtype())) return;
  const auto rank = static_cast<int64_t>(type.dims.size());
  const int64_t axis = node.attrs().Int("axis", -1);
  if (type.ranked && -rank <= axis && axis < rank) {
    type.dims[axis < 0 ? axis + rank : axis] = {.value = ElementOf<int64_t>(*depth)};
  }
}

// ONNX's function subtracts f32 in float, and does not compute the length for 16-bit types.
absl::Status CorrectRange(const Node& node,
                          absl::FunctionRef<const HostTensor*(const Value&)> constant, Type& type) {
  constexpr DTypeSet kTaken = kFloatTypes | DTypeSet{DType::kI16, DType::kI32, DType::kI64};
  const HostTensor* numbers[3];
  for (int i = 0; i < 3; ++i) {
    numbers[i] = node.has_input(i) ? constant(node.input(i)) : nullptr;
    if (numbers[i] == nullptr || numbers[i]->elements() != 1 || !kTaken.Has(numbers[i]->dtype()))
      return absl::OkStatus();
  }
  const auto length = [&](auto number) {
    using T = decltype(number);
    return RangeLength(ElementOf<T>(*numbers[0]), ElementOf<T>(*numbers[1]),
                       ElementOf<T>(*numbers[2]));
  };
  const DType dtype = numbers[0]->dtype();
  ASSIGN_OR_RETURN(const int64_t count, kHalfTypes.Has(dtype)    ? length(float{})
                                        : kFloatTypes.Has(dtype) ? length(double{})
                                                                 : length(int64_t{}));
  type.ranked = true;
  type.dims = {{.value = count}};
  return absl::OkStatus();
}

}  // namespace

absl::Status CorrectType(const Node& node,
                         absl::FunctionRef<const HostTensor*(const Value&)> constant, Type& type) {
  if (!node.domain().empty()) return absl::OkStatus();
  if (node.op() == "ConvTranspose") return CorrectConvTranspose(node, type);
  if (node.op() == "Split") return CheckSplit(node);
  if (node.op() == "GatherND") CorrectGatherND(node, type);
  if (node.op() == "MaxUnpool") return CorrectMaxUnpool(node, constant, type);
  if (node.op() == "OneHot") CorrectOneHot(node, constant, type);
  if (node.op() == "Pad") CorrectPad(node, constant, type);
  if (node.op() == "Resize") return CorrectResize(node, constant, type);
  return node.op() == "Range" ? CorrectRange(node, constant, type) : absl::OkStatus();
}

}  // namespace onnx_cudnn
