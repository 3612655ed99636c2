// Conversions between our types and ONNX's protobufs. Only infer.cc, import/ and test support
// include this.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/attrs.h"
#include "runtime/graph/host_tensor.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

// Whether to keep symbols that inference made up (Dim::made_up); files must not contain them.
enum class MadeUp : uint8_t { kDrop, kKeep };

// Converts a negative dim to an unknown one. InvalidArgument: not an element type of ONNX.
absl::StatusOr<Type> FromProto(const onnx::TypeProto& proto, MadeUp symbols = MadeUp::kDrop);

// An unknown type becomes an empty message.
onnx::TypeProto ToProto(const Type& type, MadeUp symbols = MadeUp::kDrop);

// Stores all bytes inline: raw_data, or string_data.
onnx::TensorProto ToProto(const HostTensor& tensor);
// Stores dtype and dims only.
onnx::TensorProto ToProtoWithoutData(const HostTensor& tensor);

onnx::AttributeProto ToProto(std::string_view name, const Attribute& attribute);

}  // namespace onnx_cudnn
