#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "runtime/base/file.h"
#include "runtime/graph/host_tensor.h"
#include "runtime/import/limits.h"

namespace onnx_cudnn {

// A model message without the large raw_data of its graph's initializers.
struct ParsedModel {
  onnx::ModelProto proto;
  std::vector<HostTensor> payloads;  // parallel to proto.graph().initializer(): u8[bytes], or
                                     // undefined if it is in the message
};

// Parses a serialized ModelProto. Large payloads are read directly into their final memory, those
// of a file by all threads, so memory peaks at the size of the model.
//   errors  InvalidArgument: not a complete ModelProto
//           Unimplemented: more bytes than limits.file_bytes; the errors of File::ReadAt
absl::StatusOr<ParsedModel> ParseModel(const File& file, const Limits& limits);
absl::StatusOr<ParsedModel> ParseModel(std::string_view bytes, const Limits& limits);

// Parses a model in ONNX's textual syntax, as in models/tiny.
//   errors  InvalidArgument: not such a text, with the place; Unimplemented: brackets nested too
//           deeply
absl::StatusOr<ParsedModel> ParseModelText(std::string_view text);

}  // namespace onnx_cudnn
