#include "runtime/import/tensor_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "onnx/onnx-data.pb.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/import/onnx_tensor.h"

namespace onnx_cudnn {

namespace {

absl::StatusOr<HostValue> ValueOf(onnx::TensorProto proto) {
  HostValue value;
  ASSIGN_OR_RETURN(value.tensor, ImportTensor(std::move(proto), TensorSource{}));
  return value;
}

absl::StatusOr<HostValue> ValueOf(onnx::SequenceProto proto);
absl::StatusOr<HostValue> ValueOf(onnx::OptionalProto proto);
absl::StatusOr<HostValue> ValueOf(onnx::MapProto proto);

template <typename Protos>
absl::Status Append(Protos& protos, HostValue& value) {
  for (auto& proto : protos) {
    ASSIGN_OR_RETURN(HostValue element, ValueOf(std::move(proto)));
    value.elements.push_back(std::move(element));
  }
  return absl::OkStatus();
}

// Only the field of its element type has elements.
absl::StatusOr<HostValue> ValueOf(onnx::SequenceProto proto) {
  HostValue value{.kind = Type::Kind::kSequence};
  RETURN_IF_ERROR(Append(*proto.mutable_tensor_values(), value));
  RETURN_IF_ERROR(Append(*proto.mutable_sequence_values(), value));
  RETURN_IF_ERROR(Append(*proto.mutable_optional_values(), value));
  RETURN_IF_ERROR(Append(*proto.mutable_map_values(), value));
  return value;
}

absl::StatusOr<HostValue> ValueOf(onnx::OptionalProto proto) {
  HostValue value{.kind = Type::Kind::kOptional};
  absl::StatusOr<HostValue> element;
  if (proto.has_tensor_value()) {
    element = ValueOf(std::move(*proto.mutable_tensor_value()));
  } else if (proto.has_sequence_value()) {
    element = ValueOf(std::move(*proto.mutable_sequence_value()));
  } else if (proto.has_map_value()) {
    element = ValueOf(std::move(*proto.mutable_map_value()));
  } else {
    return value;
  }
  RETURN_IF_ERROR(element.status());
  value.elements.push_back(*std::move(element));
  return value;
}

absl::StatusOr<HostValue> ValueOf(onnx::MapProto proto) {
  HostValue value{.kind = Type::Kind::kMap};
  if (proto.string_keys_size() > 0) {
    value.tensor = HostTensor::Strings({proto.string_keys_size()},
                                       {proto.string_keys().begin(), proto.string_keys().end()});
  } else {
    value.tensor = HostTensor::Ints(std::vector<int64_t>(proto.keys().begin(), proto.keys().end()));
  }
  ASSIGN_OR_RETURN(HostValue values, ValueOf(std::move(*proto.mutable_values())));
  value.elements = std::move(values.elements);
  return value;
}

template <typename Proto>
absl::StatusOr<HostValue> LoadAs(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, Limits{}.file_bytes));
  Proto proto;
  if (!proto.ParseFromString(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a ", proto.GetTypeName()));
  }
  absl::StatusOr<HostValue> value = ValueOf(std::move(proto));
  return value.ok() ? std::move(value) : Annotate(value.status(), path);
}

}  // namespace

absl::StatusOr<HostValue> LoadValueFile(const std::string& path, Type::Kind kind) {
  switch (kind) {
    case Type::Kind::kSequence:
      return LoadAs<onnx::SequenceProto>(path);
    case Type::Kind::kOptional:
      return LoadAs<onnx::OptionalProto>(path);
    case Type::Kind::kMap:
      return LoadAs<onnx::MapProto>(path);
    default:
      return LoadAs<onnx::TensorProto>(path);
  }
}

absl::StatusOr<HostTensor> LoadTensorFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, Limits{}.file_bytes));
  onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a TensorProto"));
  }
  absl::StatusOr<HostTensor> tensor = ImportTensor(std::move(proto), TensorSource{});
  if (!tensor.ok()) return Annotate(tensor.status(), path);
  return tensor;
}

}  // namespace onnx_cudnn
