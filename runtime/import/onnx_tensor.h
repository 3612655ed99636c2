#pragma once

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/graph/host_tensor.h"
#include "runtime/import/external_data.h"
#include "runtime/import/limits.h"

namespace onnx_cudnn {

// Where tensors' bytes come from, apart from their messages.
struct TensorSource {
  Limits limits = {};
  ExternalData* external = nullptr;  // nullptr: external data is refused
};

// A tensor message as a HostTensor. raw_data is moved out of the message, not copied; what else it
// holds is copied.
//   payload  raw_data that was read apart from the message: u8[bytes]; undefined: in the message
//   errors   InvalidArgument: dims negative or too large, bytes other than dims × type need,
//            two payloads, an element that its type cannot hold
//            Unimplemented: rank above the limit, 6-bit types; what ExternalData::Read says
absl::StatusOr<HostTensor> ImportTensor(onnx::TensorProto&& proto, const TensorSource& source,
                                        const HostTensor& payload = {});

}  // namespace onnx_cudnn
