#include "runtime/graph/types.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/printable.h"

namespace onnx_cudnn {
namespace {

struct DTypeInfo {
  std::string_view name;
  int bits;
};

constexpr std::array<DTypeInfo, kLastDType + 1> kDTypes = {{
    {"?", 0},          {"f32", 32},  {"u8", 8},       {"i8", 8},         {"u16", 16},
    {"i16", 16},       {"i32", 32},  {"i64", 64},     {"string", 0},     {"bool", 8},
    {"f16", 16},       {"f64", 64},  {"u32", 32},     {"u64", 64},       {"c64", 64},
    {"c128", 128},     {"bf16", 16}, {"f8e4m3fn", 8}, {"f8e4m3fnuz", 8}, {"f8e5m2", 8},
    {"f8e5m2fnuz", 8}, {"u4", 4},    {"i4", 4},       {"f4e2m1", 4},     {"f8e8m0", 8},
    {"u2", 2},         {"i2", 2},
}};

// Callers of the C++ API may pass any number.
const DTypeInfo& InfoOf(DType dtype) {
  constexpr static DTypeInfo kUnknown = {"an unknown dtype", 0};
  const auto number = static_cast<size_t>(dtype);
  return number < kDTypes.size() ? kDTypes[number] : kUnknown;
}

std::string ToString(const Dim& dim) {
  if (dim.value >= 0) return absl::StrCat(dim.value);
  return dim.symbol.empty() || dim.made_up() ? "?" : Printable(dim.symbol);
}

std::string ElementToString(const Type& type) {
  return type.element == nullptr ? "?" : ToString(*type.element);
}

std::string TensorToString(const Type& type) {
  std::string text(NameOf(type.dtype));
  if (!type.ranked) return text;
  absl::StrAppend(
      &text, "[",
      absl::StrJoin(type.dims, ",",
                    [](std::string* out, const Dim& d) { absl::StrAppend(out, ToString(d)); }),
      "]");
  return text;
}

}  // namespace

std::string_view NameOf(DType dtype) { return InfoOf(dtype).name; }
int BitsOf(DType dtype) { return InfoOf(dtype).bits; }

int64_t ElementsOf(absl::Span<const int64_t> dims) {
  int64_t elements = 1;
  for (int64_t d : dims) elements *= d;
  return elements;
}

int64_t BytesOf(DType dtype, int64_t elements) {
  const int bits = BitsOf(dtype);
  return bits >= 8 ? elements * (bits / 8) : (elements * bits + 7) / 8;
}

absl::StatusOr<int64_t> CheckedBytes(DType dtype, absl::Span<const int64_t> dims) {
  // The product of the nonzero dims is bounded even if one dim is 0, because loops multiply them.
  const int64_t most = std::numeric_limits<int64_t>::max() / std::max(BitsOf(dtype), 8);
  int64_t elements = 1;
  for (int64_t d : dims) {
    if (d < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("dims ", ToString(dims), " hold a negative extent"));
    if (d > 0 && elements > most / d) {
      return absl::InvalidArgumentError(
          absl::StrCat("dims ", ToString(dims), " hold more elements than memory can"));
    }
    elements *= std::max<int64_t>(d, 1);
  }
  return std::find(dims.begin(), dims.end(), 0) == dims.end() ? BytesOf(dtype, elements) : 0;
}

Type Type::Tensor(DType dtype, absl::Span<const int64_t> dims) {
  Type type;
  type.kind = Kind::kTensor;
  type.dtype = dtype;
  type.ranked = true;
  for (int64_t d : dims) type.dims.push_back({.value = d});
  return type;
}

bool Type::is_known() const {
  const bool holds = kind == Kind::kSequence || kind == Kind::kOptional || kind == Kind::kMap;
  if (holds) return element != nullptr && element->is_known();
  return kind != Kind::kUnknown;
}

bool Type::is_static() const {
  return is_tensor() && dtype != DType::kUndefined && ranked &&
         std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.value >= 0; });
}

bool Type::operator==(const Type& other) const {
  if (kind != other.kind || dtype != other.dtype || ranked != other.ranked || dims != other.dims)
    return false;
  if (element == nullptr || other.element == nullptr) return element == other.element;
  return *element == *other.element;
}

std::string ToString(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kUnknown:
      return "?";
    case Type::Kind::kTensor:
      return TensorToString(type);
    case Type::Kind::kSparseTensor:
      return absl::StrCat("sparse(", TensorToString(type), ")");
    case Type::Kind::kSequence:
      return absl::StrCat("sequence(", ElementToString(type), ")");
    case Type::Kind::kOptional:
      return absl::StrCat("optional(", ElementToString(type), ")");
    case Type::Kind::kMap:
      return absl::StrCat("map(", NameOf(type.dtype), ",", ElementToString(type), ")");
  }
  return "?";
}

std::string ToString(absl::Span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

}  // namespace onnx_cudnn
