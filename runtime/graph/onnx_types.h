// Our types as ONNX's protobufs and back. Only infer.cc, import/ and test support include this.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/attrs.h"
#include "runtime/graph/host_tensor.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

// What to do with symbols that inference made up (Dim::made_up): a file cannot know ours.
enum class MadeUp : uint8_t { kDrop, kKeep };

// A negative dim becomes an unknown one. InvalidArgument: no element type of ONNX.
absl::StatusOr<Type> FromProto(const onnx::TypeProto& proto, MadeUp symbols = MadeUp::kDrop);

// An unknown type gives an empty message.
onnx::TypeProto ToProto(const Type& type, MadeUp symbols = MadeUp::kDrop);

// All bytes inline: raw_data, or string_data.
onnx::TensorProto ToProto(const HostTensor& tensor);
// dtype and dims alone.
onnx::TensorProto ToProtoWithoutData(const HostTensor& tensor);

onnx::AttributeProto ToProto(std::string_view name, const Attribute& attribute);

}  // namespace onnx_cudnn
