#pragma once

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/host_tensor.h"
#include "runtime/import/external_data.h"
#include "runtime/import/limits.h"

namespace onnx_cudnn {

// Sources of tensor data outside the tensor messages.
struct TensorSource {
  Limits limits = {};
  ExternalData* external = nullptr;  // nullptr: external data is refused
};

// Converts a tensor message to a HostTensor. raw_data is moved out of the message, other data is
// copied.
//   payload  raw_data that was read separately from the message: u8[bytes]; undefined: in the
//            message
//   errors   InvalidArgument: dims negative or too large, a byte count that does not match dims and
//            type, two payloads, an element that its type cannot represent
//            Unimplemented: rank above the limit, 6-bit types; the errors of ExternalData::Read
absl::StatusOr<HostTensor> ImportTensor(onnx::TensorProto&& proto, const TensorSource& source,
                                        const HostTensor& payload = {});

}  // namespace onnx_cudnn
