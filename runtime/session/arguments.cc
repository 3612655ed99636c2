#include "runtime/session/arguments.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

std::string Where(std::string_view what, const ValueInfo& info) {
  return absl::StrFormat("%s \"%s\"", what, info.name);
}

bool FitsDims(const ValueInfo& info, const std::vector<int64_t>& shape) {
  if (!info.ranked) return true;
  return std::equal(
      info.dims.begin(), info.dims.end(), shape.begin(), shape.end(),
      [](const ValueInfo::Extent& e, int64_t found) { return e.value < 0 || e.value == found; });
}

// A hint if an image has the other layout; empty otherwise.
std::string OtherLayout(const ValueInfo& info, const TensorView& view) {
  struct Layout {
    const char *found, *expected, *transpose;
    std::vector<int> axes;
  };
  static const auto& layouts =
      *new std::vector<Layout>{{"NCHW", "NHWC", "(0, 2, 3, 1)", {0, 2, 3, 1}},
                               {"NHWC", "NCHW", "(0, 3, 1, 2)", {0, 3, 1, 2}}};
  if (!info.ranked || view.shape.size() != 4 || FitsDims(info, view.shape)) return "";
  for (const Layout& layout : layouts) {
    std::vector<int64_t> transposed;
    for (const int axis : layout.axes) transposed.push_back(view.shape[axis]);
    if (!FitsDims(info, transposed)) continue;
    return absl::StrCat("; it fits as ", layout.expected, ", if it is ", layout.found,
                        " now: in numpy, x.transpose", layout.transpose);
  }
  return "";
}

ValueKind KindOf(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kSequence:
      return ValueKind::kSequence;
    case Type::Kind::kOptional:
      return ValueKind::kOptional;
    case Type::Kind::kMap:
      return ValueKind::kMap;
    default:
      return ValueKind::kTensor;
  }
}

Type TypeOf(const ValueInfo& info) {
  Type type{.kind = TypeKindOf(info.kind), .dtype = info.dtype, .ranked = info.ranked};
  if (!info.elements.empty()) {
    type.element = std::make_shared<const Type>(TypeOf(info.elements[0]));
  }
  for (const ValueInfo::Extent& extent : info.dims) {
    type.dims.push_back({.value = extent.value, .symbol = extent.symbol});
  }
  return type;
}

absl::Status CheckDevice(const ValueInfo& info, const TensorView& view, std::string_view what,
                         const DeviceRef& device) {
  const DeviceRef host;
  const bool may_be_there = view.dtype != DType::kString && view.device == device;
  if (view.device == host || may_be_there) return absl::OkStatus();
  const bool has_two = device != host && view.dtype != DType::kString;
  return absl::InvalidArgumentError(
      absl::StrFormat("%s: expected memory of the host%s, found memory of %s", Where(what, info),
                      has_two ? absl::StrCat(" or of ", NameOf(device)) : "", NameOf(view.device)));
}

absl::Status CheckView(const ValueInfo& info, const TensorView& view, std::string_view what,
                       const DeviceRef& device) {
  if (info.kind != ValueKind::kTensor) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: expected %s, found a tensor",
                                                      Where(what, info), ToString(TypeOf(info))));
  }
  if (view.dtype != info.dtype || !FitsDims(info, view.shape)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: expected %s, found %s%s%s", Where(what, info), ToString(TypeOf(info)),
                        NameOf(view.dtype), ToString(view.shape), OtherLayout(info, view)));
  }
  // A count that is safe for the widest number type is safe for std::string objects too.
  const DType counted = view.dtype == DType::kString ? DType::kC128 : view.dtype;
  if (absl::StatusOr<int64_t> bytes = CheckedBytes(counted, view.shape); !bytes.ok()) {
    return Annotate(bytes.status(), Where(what, info));
  }
  if (!view.strides.empty() && view.strides.size() != view.shape.size()) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: expected %d strides or none, found %d",
                                                      Where(what, info), view.shape.size(),
                                                      view.strides.size()));
  }
  if (!IsRowMajor(view)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: expected row-major elements, found strides [%s] for shape %s",
                        Where(what, info), absl::StrJoin(view.strides, ","), ToString(view.shape)));
  }
  return CheckDevice(info, view, what, device);
}

// A map has a vector of keys in host memory, one per element.
absl::Status CheckKeys(const ValueInfo& info, const ModelValue& map, std::string_view what) {
  const Tensor& keys = map.tensor();
  if (keys.dtype() != info.dtype) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: expected keys of %s, found %s",
                                                      Where(what, info), NameOf(info.dtype),
                                                      NameOf(keys.dtype())));
  }
  if (keys.shape().size() != 1 || !std::cmp_equal(keys.elements(), map.elements().size())) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: expected a vector of %d keys, found %s%s", Where(what, info), map.elements().size(),
        NameOf(keys.dtype()), ToString(absl::MakeConstSpan(keys.shape()))));
  }
  RETURN_IF_ERROR(CheckDevice(info, keys.view(), what, DeviceRef{}));
  return CheckPointer(keys.view(), Where(what, info), 0);
}

std::string NamesOf(const std::vector<ValueInfo>& infos) {
  return absl::StrJoin(infos, ", ",
                       [](std::string* out, const ValueInfo& info) { out->append(info.name); });
}

absl::StatusOr<size_t> IndexOf(const std::string& name, const std::vector<ValueInfo>& infos,
                               std::string_view what) {
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name == name) return i;
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("unknown %s \"%s\", expected: %s", what, name, NamesOf(infos)));
}

struct Bytes {
  const std::byte* begin;
  const std::byte* end;
};

int64_t BytesTaken(const TensorView& view) {
  const int64_t elements = ElementsOf(view.shape);
  if (view.dtype == DType::kString) return elements * static_cast<int64_t>(sizeof(std::string));
  return BytesOf(view.dtype, elements);
}

Bytes BytesOf(const TensorView& view) {
  const auto* begin = static_cast<const std::byte*>(view.data);
  return {begin, begin + BytesTaken(view)};
}

bool Overlap(const TensorView& a, const TensorView& b) {
  const Bytes x = BytesOf(a), y = BytesOf(b);
  return x.begin < y.end && y.begin < x.end && x.begin != x.end && y.begin != y.end;
}

}  // namespace

absl::Status CheckPointer(const TensorView& view, std::string_view what, size_t index) {
  const int64_t bytes = BytesTaken(view);
  if (bytes > 0 && view.data == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s %d: expected %d bytes, found a null pointer", what, index, bytes));
  }
  const int alignment = view.dtype == DType::kString ? static_cast<int>(alignof(std::string))
                                                     : std::max(1, BitsOf(view.dtype) / 8);
  if (reinterpret_cast<uintptr_t>(view.data) % alignment != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s %d: expected memory aligned to %d bytes, found %p", what, index, alignment, view.data));
  }
  return absl::OkStatus();
}

bool IsRowMajor(const TensorView& view) {
  if (view.strides.empty()) return true;
  if (view.strides.size() != view.shape.size()) return false;
  int64_t expected = 1;
  for (size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.shape[i];
  }
  return true;
}

std::string NameOf(const DeviceRef& device) {
  if (device == DeviceRef{}) return "the host";
  if (device.kind == DeviceKind::kCpu) return absl::StrCat("cpu:", device.ordinal);
  if (device.kind == DeviceKind::kCuda) return absl::StrCat("CUDA device ", device.ordinal);
  return absl::StrFormat("a device of the unknown kind %d", static_cast<int>(device.kind));
}

absl::Status CheckValue(const ValueInfo& info, const ModelValue& value, std::string_view what,
                        const DeviceRef& device) {
  if (value.kind() != info.kind) {
    constexpr std::string_view kNames[] = {"a tensor", "a sequence", "an optional", "a map"};
    return absl::InvalidArgumentError(absl::StrFormat("%s: expected %s, found %s",
                                                      Where(what, info), ToString(TypeOf(info)),
                                                      kNames[static_cast<int>(value.kind())]));
  }
  if (info.kind == ValueKind::kTensor) {
    RETURN_IF_ERROR(CheckView(info, value.tensor().view(), what, device));
    return CheckPointer(value.tensor().view(), Where(what, info), 0);
  }
  if (info.kind == ValueKind::kMap) RETURN_IF_ERROR(CheckKeys(info, value, what));
  if (info.elements.empty()) return absl::OkStatus();
  ValueInfo element = info.elements[0];
  element.name = info.name;
  for (const ModelValue& held : value.elements()) {
    RETURN_IF_ERROR(CheckValue(element, held, what, device));
  }
  return absl::OkStatus();
}

Type::Kind TypeKindOf(ValueKind kind) {
  constexpr Type::Kind kKinds[] = {Type::Kind::kTensor, Type::Kind::kSequence,
                                   Type::Kind::kOptional, Type::Kind::kMap};
  return kKinds[static_cast<int>(kind)];
}

std::string ToString(const ValueInfo& info) {
  return absl::StrCat(info.name, " ", ToString(TypeOf(info)));
}

ValueInfo DescribeValue(std::string_view name, const Type& type) {
  ValueInfo info{.name = std::string(name), .dtype = type.dtype, .ranked = type.ranked};
  for (const Dim& dim : type.dims) info.dims.push_back({.value = dim.value, .symbol = dim.symbol});
  info.kind = KindOf(type);
  if (info.kind == ValueKind::kTensor) return info;
  info.ranked = true;
  if (type.element != nullptr) info.elements.push_back(DescribeValue("", *type.element));
  return info;
}

namespace {

// For each of `infos` the index of its argument in `given`.
template <typename Argument>
absl::StatusOr<std::vector<size_t>> MatchNames(const std::vector<Argument>& given,
                                               const std::vector<ValueInfo>& infos,
                                               std::string_view what) {
  if (given.size() != infos.size()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "expected %d %ss (%s), found %d", infos.size(), what, NamesOf(infos), given.size()));
  }
  std::vector<size_t> matched(infos.size(), infos.size());
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].name.empty() != given[0].name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("expected every %s by name or every one by place, found both", what));
    }
    size_t index = i;
    if (!given[i].name.empty()) {
      ASSIGN_OR_RETURN(index, IndexOf(given[i].name, infos, what));
    }
    if (matched[index] != infos.size()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s is given twice", Where(what, infos[index])));
    }
    matched[index] = i;
  }
  return matched;
}

}  // namespace

absl::StatusOr<std::vector<const TensorView*>> MatchArguments(const std::vector<NamedView>& views,
                                                              const std::vector<ValueInfo>& infos,
                                                              std::string_view what,
                                                              const DeviceRef& device) {
  ASSIGN_OR_RETURN(const std::vector<size_t> order, MatchNames(views, infos, what));
  std::vector<const TensorView*> matched;
  for (size_t i = 0; i < infos.size(); ++i) {
    const TensorView& view = views[order[i]].view;
    RETURN_IF_ERROR(CheckView(infos[i], view, what, device));
    matched.push_back(&view);
  }
  return matched;
}

absl::StatusOr<std::vector<ModelValue>> MatchValues(const std::vector<NamedValue>& values,
                                                    const std::vector<ValueInfo>& infos,
                                                    std::string_view what,
                                                    const DeviceRef& device) {
  ASSIGN_OR_RETURN(const std::vector<size_t> order, MatchNames(values, infos, what));
  std::vector<ModelValue> matched;
  for (size_t i = 0; i < infos.size(); ++i) {
    ModelValue value = values[order[i]].value;
    const bool is_held =
        infos[i].kind == ValueKind::kOptional && value.kind() != ValueKind::kOptional;
    if (is_held) value = ModelValue::Optional(std::move(value));
    RETURN_IF_ERROR(CheckValue(infos[i], value, what, device));
    matched.push_back(std::move(value));
  }
  return matched;
}

absl::Status CheckMemory(const std::vector<const TensorView*>& inputs,
                         const std::vector<const TensorView*>& outputs,
                         const std::function<int(size_t output)>& in_place) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    RETURN_IF_ERROR(CheckPointer(*inputs[i], "input", i));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    RETURN_IF_ERROR(CheckPointer(*outputs[i], "output", i));
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (!Overlap(*outputs[i], *inputs[j])) continue;
      const bool is_same = outputs[i]->data == inputs[j]->data;
      if (is_same && in_place != nullptr && std::cmp_equal(in_place(i), j)) continue;
      return absl::InvalidArgumentError(absl::StrFormat("output %d overlaps input %d", i, j));
    }
    for (size_t j = 0; j < i; ++j) {
      if (!Overlap(*outputs[i], *outputs[j])) continue;
      return absl::InvalidArgumentError(absl::StrFormat("output %d overlaps output %d", i, j));
    }
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
