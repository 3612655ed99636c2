#include "runtime/import/onnx_tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is read as it lies");

using Proto = onnx::TensorProto;

// The fields that may hold elements.
enum class Field : uint8_t { kNone, kFloat, kInt32, kString, kInt64, kDouble, kUint64, kRaw };

absl::Status Wrong(std::string text) { return absl::InvalidArgumentError(std::move(text)); }

absl::StatusOr<DType> CheckDType(const Proto& proto) {
  const int type = proto.data_type();
  if (type == Proto::FLOAT6E2M3 || type == Proto::FLOAT6E3M2) {
    return absl::UnimplementedError("6-bit floating point tensors are not taken");
  }
  if (type <= 0 || type > kLastDType) {
    return Wrong(absl::StrCat("data_type ", type, " is none of onnx's"));
  }
  return static_cast<DType>(type);
}

// The typed field that may hold elements of `dtype`.
Field FieldOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kC64:
      return Field::kFloat;
    case DType::kF64:
    case DType::kC128:
      return Field::kDouble;
    case DType::kI64:
      return Field::kInt64;
    case DType::kU32:
    case DType::kU64:
      return Field::kUint64;
    case DType::kString:
      return Field::kString;
    default:
      return Field::kInt32;
  }
}

// The field that holds elements. InvalidArgument if two do.
absl::StatusOr<Field> FieldInUse(const Proto& proto, bool has_payload) {
  const std::pair<Field, bool> fields[] = {{Field::kFloat, proto.float_data_size() > 0},
                                           {Field::kInt32, proto.int32_data_size() > 0},
                                           {Field::kString, proto.string_data_size() > 0},
                                           {Field::kInt64, proto.int64_data_size() > 0},
                                           {Field::kDouble, proto.double_data_size() > 0},
                                           {Field::kUint64, proto.uint64_data_size() > 0},
                                           {Field::kRaw, has_payload || !proto.raw_data().empty()}};
  if (has_payload && !proto.raw_data().empty()) return Wrong("raw_data is given twice");
  Field used = Field::kNone;
  for (const auto& [field, present] : fields) {
    if (!present) continue;
    if (used != Field::kNone) return Wrong("elements stand in two fields at once");
    used = field;
  }
  return used;
}

absl::Status WrongCount(std::string_view what, int64_t found, int64_t expected) {
  return Wrong(absl::StrCat("holds ", found, " ", what, ", dims and type need ", expected));
}

// A C++ bool other than 0 and 1 has undefined behaviour.
absl::Status CheckBools(const HostTensor& tensor) {
  if (tensor.dtype() != DType::kBool) return absl::OkStatus();
  for (uint8_t b : tensor.data<uint8_t>()) {
    if (b > 1) return Wrong("a bool is neither 0 nor 1");
  }
  return absl::OkStatus();
}

// Views the bytes of `payload`, whose number must match dtype and dims.
absl::StatusOr<HostTensor> View(DType dtype, Dims dims, int64_t bytes, const HostTensor& payload) {
  if (payload.bytes() != bytes) return WrongCount("bytes", payload.bytes(), bytes);
  auto owner = std::make_shared<HostTensor>(payload);
  const void* data = owner->raw();
  const int64_t element = std::max(1, BitsOf(dtype) / 8);
  if (reinterpret_cast<uintptr_t>(data) % std::min<int64_t>(element, 8) == 0) {
    return HostTensor::Borrow(dtype, std::move(dims), data, std::move(owner));
  }
  // A mapped file at an unaligned offset.
  HostTensor copy = HostTensor::Allocate(dtype, std::move(dims));
  std::memcpy(copy.mutable_raw(), data, bytes);
  return copy;
}

HostTensor TakeRaw(Proto& proto) {
  auto owner = std::make_shared<std::string>(std::move(*proto.mutable_raw_data()));
  const void* data = owner->data();
  const Dims dims = {static_cast<int64_t>(owner->size())};
  return HostTensor::Borrow(DType::kU8, dims, data, std::move(owner));
}

// Elements of a typed field that have the same bytes as in memory.
template <typename T>
absl::StatusOr<HostTensor> CopyField(DType dtype, Dims dims, int64_t bytes, const T& field) {
  const int64_t expected = bytes / static_cast<int64_t>(sizeof(*field.data()));
  if (field.size() != expected) return WrongCount("elements", field.size(), expected);
  HostTensor tensor = HostTensor::Allocate(dtype, std::move(dims));
  if (bytes > 0) std::memcpy(tensor.mutable_raw(), field.data(), bytes);
  return tensor;
}

// Elements of a wider field. Each may be written signed or unsigned: -1 and 255 are the same 8
// bits.
template <typename Narrow, typename T>
absl::StatusOr<HostTensor> NarrowField(DType dtype, Dims dims, int64_t bytes, const T& field) {
  const int64_t expected = bytes / static_cast<int64_t>(sizeof(Narrow));
  if (field.size() != expected) return WrongCount("elements", field.size(), expected);
  constexpr auto kLimit = int64_t{1} << (8 * sizeof(Narrow));
  HostTensor tensor = HostTensor::Allocate(dtype, std::move(dims));
  Narrow* to = static_cast<Narrow*>(tensor.mutable_raw());
  for (auto value : field) {
    if (std::cmp_less(value, -kLimit / 2) || std::cmp_greater_equal(value, kLimit)) {
      return Wrong(absl::StrCat("an element is out of the range of ", NameOf(dtype)));
    }
    *to++ = static_cast<Narrow>(value);
  }
  return tensor;
}

absl::StatusOr<HostTensor> FromInt32(DType dtype, Dims dims, int64_t bytes, const Proto& proto) {
  switch (BitsOf(dtype)) {
    case 32:
      return CopyField(dtype, std::move(dims), bytes, proto.int32_data());
    case 16:
      return NarrowField<uint16_t>(dtype, std::move(dims), bytes, proto.int32_data());
    default:  // one byte holds one, two or four elements
      return NarrowField<uint8_t>(dtype, std::move(dims), bytes, proto.int32_data());
  }
}

absl::StatusOr<HostTensor> FromStrings(Dims dims, Proto& proto) {
  const int64_t expected = ElementsOf(dims);
  if (proto.string_data_size() != expected) {
    return WrongCount("elements", proto.string_data_size(), expected);
  }
  std::vector<std::string> values;
  values.reserve(expected);
  for (std::string& s : *proto.mutable_string_data()) values.push_back(std::move(s));
  return HostTensor::Strings(std::move(dims), std::move(values));
}

absl::StatusOr<HostTensor> FromTypedField(Field field, DType dtype, Dims dims, int64_t bytes,
                                          Proto& proto) {
  switch (field) {
    case Field::kFloat:
      return CopyField(dtype, std::move(dims), bytes, proto.float_data());
    case Field::kDouble:
      return CopyField(dtype, std::move(dims), bytes, proto.double_data());
    case Field::kInt64:
      return CopyField(dtype, std::move(dims), bytes, proto.int64_data());
    case Field::kUint64:
      if (dtype == DType::kU64)
        return CopyField(dtype, std::move(dims), bytes, proto.uint64_data());
      return NarrowField<uint32_t>(dtype, std::move(dims), bytes, proto.uint64_data());
    case Field::kString:
      return FromStrings(std::move(dims), proto);
    default:
      return FromInt32(dtype, std::move(dims), bytes, proto);
  }
}

absl::StatusOr<HostTensor> FromExternal(DType dtype, Dims dims, int64_t bytes, const Proto& proto,
                                        const TensorSource& source) {
  if (dtype == DType::kString) return Wrong("strings stand in external data");
  if (source.external == nullptr) return Wrong("external data is not allowed here");
  ASSIGN_OR_RETURN(HostTensor payload, source.external->Read(proto, bytes));
  return View(dtype, std::move(dims), bytes, payload);
}

absl::StatusOr<HostTensor> FromInline(DType dtype, Dims dims, int64_t bytes, Field field,
                                      Proto& proto, const HostTensor& payload) {
  if (field == Field::kRaw) {
    if (dtype == DType::kString) return Wrong("strings stand in raw_data");
    return View(dtype, std::move(dims), bytes, payload.defined() ? payload : TakeRaw(proto));
  }
  const Field expected = FieldOf(dtype);
  if (field != Field::kNone && field != expected) {
    return Wrong(absl::StrCat("elements of ", NameOf(dtype), " stand in another type's field"));
  }
  return FromTypedField(expected, dtype, std::move(dims), bytes, proto);
}

}  // namespace

absl::StatusOr<HostTensor> ImportTensor(Proto&& proto, const TensorSource& source,
                                        const HostTensor& payload) {
  ASSIGN_OR_RETURN(const DType dtype, CheckDType(proto));
  if (proto.has_segment()) return absl::UnimplementedError("tensors in segments are not taken");
  if (proto.dims_size() > source.limits.rank) {
    return absl::UnimplementedError(
        absl::StrCat("rank ", proto.dims_size(), " is above the limit of ", source.limits.rank));
  }
  Dims dims(proto.dims().begin(), proto.dims().end());
  ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(dtype, dims));
  ASSIGN_OR_RETURN(const Field field, FieldInUse(proto, payload.defined()));
  const bool external = proto.data_location() == Proto::EXTERNAL;
  if (external && field != Field::kNone) return Wrong("elements stand inline and in external data");
  absl::StatusOr<HostTensor> tensor =
      external ? FromExternal(dtype, std::move(dims), bytes, proto, source)
               : FromInline(dtype, std::move(dims), bytes, field, proto, payload);
  if (tensor.ok()) RETURN_IF_ERROR(CheckBools(*tensor));
  return tensor;
}

}  // namespace onnx_cudnn
