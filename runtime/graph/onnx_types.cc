#include "runtime/graph/onnx_types.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

absl::StatusOr<DType> ToDType(int32_t element) {
  if (element == onnx::TensorProto::FLOAT6E2M3 || element == onnx::TensorProto::FLOAT6E3M2) {
    return absl::UnimplementedError("6-bit floating point tensors are not taken");
  }
  if (element < 0 || element > kLastDType) {
    return absl::InvalidArgumentError(absl::StrCat("element type ", element, " is none of onnx's"));
  }
  return static_cast<DType>(element);
}

Dim FromProto(const onnx::TensorShapeProto::Dimension& proto, MadeUp symbols) {
  if (proto.has_dim_value()) return {.value = proto.dim_value() < 0 ? -1 : proto.dim_value()};
  Dim dim{.symbol = proto.dim_param()};
  return symbols == MadeUp::kDrop && dim.made_up() ? Dim{} : dim;
}

// For TypeProto.Tensor and TypeProto.SparseTensor.
absl::StatusOr<Type> FromTensor(Type::Kind kind, const auto& proto, MadeUp symbols) {
  Type type{.kind = kind};
  ASSIGN_OR_RETURN(type.dtype, ToDType(proto.elem_type()));
  type.ranked = proto.has_shape();
  for (const auto& dim : proto.shape().dim()) type.dims.push_back(FromProto(dim, symbols));
  return type;
}

absl::StatusOr<Type> Holding(Type::Kind kind, const onnx::TypeProto& element, MadeUp symbols) {
  ASSIGN_OR_RETURN(Type type, FromProto(element, symbols));
  return Type{.kind = kind, .element = std::make_shared<const Type>(std::move(type))};
}

void ToTensor(const Type& type, MadeUp symbols, auto* proto) {
  proto->set_elem_type(static_cast<int32_t>(type.dtype));
  if (!type.ranked) return;
  onnx::TensorShapeProto* shape = proto->mutable_shape();
  for (const Dim& dim : type.dims) {
    onnx::TensorShapeProto::Dimension* d = shape->add_dim();
    if (dim.value >= 0) {
      d->set_dim_value(dim.value);
    } else if (!dim.symbol.empty() && (symbols == MadeUp::kKeep || !dim.made_up())) {
      d->set_dim_param(dim.symbol);
    }
  }
}

// Sets the field of `proto` that corresponds to the type of an attribute.
struct FieldSetter {
  onnx::AttributeProto& proto;

  void operator()(int64_t value) const {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    proto.set_type(onnx::AttributeProto::INTS);
    proto.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<float>& values) const {
    proto.set_type(onnx::AttributeProto::FLOATS);
    proto.mutable_floats()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<std::string>& values) const {
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& s : values) proto.add_strings(s);
  }
  void operator()(const HostTensor& value) const {
    proto.set_type(onnx::AttributeProto::TENSOR);
    *proto.mutable_t() = ToProto(value);
  }
  void operator()(const std::vector<HostTensor>& values) const {
    proto.set_type(onnx::AttributeProto::TENSORS);
    for (const HostTensor& t : values) *proto.add_tensors() = ToProto(t);
  }
  void operator()(const Type& value) const {
    proto.set_type(onnx::AttributeProto::TYPE_PROTO);
    *proto.mutable_tp() = ToProto(value);
  }
};

}  // namespace

absl::StatusOr<Type> FromProto(const onnx::TypeProto& proto, MadeUp symbols) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
      return FromTensor(Type::Kind::kTensor, proto.tensor_type(), symbols);
    case onnx::TypeProto::kSparseTensorType:
      return FromTensor(Type::Kind::kSparseTensor, proto.sparse_tensor_type(), symbols);
    case onnx::TypeProto::kSequenceType:
      return Holding(Type::Kind::kSequence, proto.sequence_type().elem_type(), symbols);
    case onnx::TypeProto::kOptionalType:
      return Holding(Type::Kind::kOptional, proto.optional_type().elem_type(), symbols);
    case onnx::TypeProto::kMapType: {
      ASSIGN_OR_RETURN(Type type,
                       Holding(Type::Kind::kMap, proto.map_type().value_type(), symbols));
      ASSIGN_OR_RETURN(type.dtype, ToDType(proto.map_type().key_type()));
      return type;
    }
    default:
      return Type{};
  }
}

onnx::TypeProto ToProto(const Type& type, MadeUp symbols) {
  onnx::TypeProto proto;
  const auto fill_element = [&](onnx::TypeProto* element) {
    if (type.element != nullptr) *element = ToProto(*type.element, symbols);
  };
  switch (type.kind) {
    case Type::Kind::kUnknown:
      break;
    case Type::Kind::kTensor:
      ToTensor(type, symbols, proto.mutable_tensor_type());
      break;
    case Type::Kind::kSparseTensor:
      ToTensor(type, symbols, proto.mutable_sparse_tensor_type());
      break;
    case Type::Kind::kSequence:
      fill_element(proto.mutable_sequence_type()->mutable_elem_type());
      break;
    case Type::Kind::kOptional:
      fill_element(proto.mutable_optional_type()->mutable_elem_type());
      break;
    case Type::Kind::kMap:
      proto.mutable_map_type()->set_key_type(static_cast<int32_t>(type.dtype));
      fill_element(proto.mutable_map_type()->mutable_value_type());
      break;
  }
  return proto;
}

onnx::TensorProto ToProtoWithoutData(const HostTensor& tensor) {
  onnx::TensorProto proto;
  proto.set_data_type(static_cast<int32_t>(tensor.dtype()));
  proto.mutable_dims()->Add(tensor.dims().begin(), tensor.dims().end());
  return proto;
}

onnx::TensorProto ToProto(const HostTensor& tensor) {
  onnx::TensorProto proto = ToProtoWithoutData(tensor);
  if (tensor.dtype() == DType::kString) {
    for (const std::string& s : tensor.strings()) proto.add_string_data(s);
  } else {
    proto.set_raw_data(tensor.raw(), tensor.bytes());
  }
  return proto;
}

onnx::AttributeProto ToProto(std::string_view name, const Attribute& attribute) {
  onnx::AttributeProto proto;
  proto.set_name(std::string(name));
  std::visit(FieldSetter{proto}, attribute);
  return proto;
}

}  // namespace onnx_cudnn
