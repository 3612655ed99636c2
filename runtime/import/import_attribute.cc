#include "runtime/import/import_attribute.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/onnx_types.h"

namespace onnx_cudnn {
namespace {

using Proto = onnx::AttributeProto;

// The types whose fields are not empty.
std::vector<Proto::AttributeType> TypesHeld(const Proto& proto) {
  const std::pair<Proto::AttributeType, bool> fields[] = {
      {Proto::FLOAT, proto.has_f()},
      {Proto::INT, proto.has_i()},
      {Proto::STRING, proto.has_s()},
      {Proto::TENSOR, proto.has_t()},
      {Proto::GRAPH, proto.has_g()},
      {Proto::SPARSE_TENSOR, proto.has_sparse_tensor()},
      {Proto::TYPE_PROTO, proto.has_tp()},
      {Proto::FLOATS, proto.floats_size() > 0},
      {Proto::INTS, proto.ints_size() > 0},
      {Proto::STRINGS, proto.strings_size() > 0},
      {Proto::TENSORS, proto.tensors_size() > 0},
      {Proto::GRAPHS, proto.graphs_size() > 0},
      {Proto::SPARSE_TENSORS, proto.sparse_tensors_size() > 0},
      {Proto::TYPE_PROTOS, proto.type_protos_size() > 0},
  };
  std::vector<Proto::AttributeType> held;
  for (const auto& [type, present] : fields) {
    if (present) held.push_back(type);
  }
  return held;
}

// proto3 writers omit zeros, so an empty message is the zero of its type.
absl::Status CheckFields(const Proto& proto) {
  if (!proto.ref_attr_name().empty()) {
    return absl::InvalidArgumentError("refers to an attribute of a function, outside of one");
  }
  if (proto.type() == Proto::UNDEFINED) return absl::InvalidArgumentError("has no type");
  for (Proto::AttributeType held : TypesHeld(proto)) {
    if (held == proto.type()) continue;
    return absl::InvalidArgumentError(absl::StrCat("is of type ",
                                                   Proto::AttributeType_Name(proto.type()),
                                                   " and holds ", Proto::AttributeType_Name(held)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Attribute> ImportTensors(Proto& proto, const TensorSource& source) {
  std::vector<HostTensor> tensors;
  for (onnx::TensorProto& t : *proto.mutable_tensors()) {
    ASSIGN_OR_RETURN(HostTensor tensor, ImportTensor(std::move(t), source));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

template <typename T>
HostTensor Scalar(DType dtype, T value) {
  return HostTensor::Of<T>(dtype, {}, {value});
}

template <typename T>
HostTensor List(DType dtype, const std::vector<T>& values) {
  return HostTensor::Of<T>(dtype, {static_cast<int64_t>(values.size())}, values);
}

}  // namespace

absl::StatusOr<Attribute> ImportAttribute(Proto&& proto, const TensorSource& source) {
  RETURN_IF_ERROR(CheckFields(proto));
  switch (proto.type()) {
    case Proto::FLOAT:
      return proto.f();
    case Proto::INT:
      return proto.i();
    case Proto::STRING:
      return std::move(*proto.mutable_s());
    case Proto::TENSOR:
      return ImportTensor(std::move(*proto.mutable_t()), source);
    case Proto::FLOATS:
      return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case Proto::INTS:
      return std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
    case Proto::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case Proto::TENSORS:
      return ImportTensors(proto, source);
    case Proto::TYPE_PROTO:
      return FromProto(proto.tp());
    case Proto::GRAPH:
      return absl::InternalError("a graph is imported as a body");
    default:
      return absl::UnimplementedError(absl::StrCat(
          "attributes of type ", Proto::AttributeType_Name(proto.type()), " are not taken"));
  }
}

absl::StatusOr<HostTensor> ImportConstant(Proto&& proto, const TensorSource& source) {
  const std::string name = proto.name();
  ASSIGN_OR_RETURN(const Attribute value, ImportAttribute(std::move(proto), source));
  if (const auto* tensor = std::get_if<HostTensor>(&value); tensor && name == "value") {
    return *tensor;
  }
  if (const auto* f = std::get_if<float>(&value); f && name == "value_float") {
    return Scalar(DType::kF32, *f);
  }
  if (const auto* i = std::get_if<int64_t>(&value); i && name == "value_int") {
    return Scalar(DType::kI64, *i);
  }
  if (const auto* s = std::get_if<std::string>(&value); s && name == "value_string") {
    return HostTensor::Strings({}, {*s});
  }
  if (const auto* floats = std::get_if<std::vector<float>>(&value);
      floats && name == "value_floats") {
    return List(DType::kF32, *floats);
  }
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&value); ints && name == "value_ints") {
    return List(DType::kI64, *ints);
  }
  if (const auto* strings = std::get_if<std::vector<std::string>>(&value);
      strings && name == "value_strings") {
    return HostTensor::Strings({static_cast<int64_t>(strings->size())}, *strings);
  }
  return absl::InvalidArgumentError("is not a value of a Constant, or has another type");
}

absl::Status CheckGraphAttribute(const Proto& proto) {
  RETURN_IF_ERROR(CheckFields(proto));
  if (proto.has_g()) return absl::OkStatus();
  return absl::InvalidArgumentError("holds no graph");
}

}  // namespace onnx_cudnn
