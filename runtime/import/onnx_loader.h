#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/import/limits.h"

namespace onnx_cudnn {

// How the bytes of external data come into memory.
enum class ExternalBytes : uint8_t {
  kRead,  // copied once: safe whatever happens to the file
  kMap,   // mapped, not copied: whoever chooses this promises that nobody shortens or changes the
          // file while its Graph lives
};

struct LoadOptions {
  Limits limits = {};
  ExternalBytes external_bytes = ExternalBytes::kRead;
  // External data may be a link, and the model too, as in hub caches: the link must end in the
  // folder of the real model.
  bool follow_hub_links = false;
};

// Reads an ONNX model of opset 6 to 28: every Node in the newest opset's form, typed as far as
// ONNX's inference goes, bodies closed, model-local functions expanded, Constant nodes and
// initializers as constants. An initializer that is also an input (a default that a caller could
// override) is a constant and no input. Nodes that do not stand after their producers are moved
// behind them. Metadata and quantization annotations are ignored.
//   errors  InvalidArgument: not a model, or a model that breaks ONNX's rules
//           Unimplemented: valid, but not taken (opset, domain, sparse tensors, training, a limit)
//           NotFound, DataLoss: files; ResourceExhausted: memory, descriptors
//           Messages name the file and the node and hold nothing else of the file's content.
absl::StatusOr<Graph> LoadModel(const std::string& path, const LoadOptions& options = {});

// The same of bytes in memory; external data is InvalidArgument, for there is no folder.
absl::StatusOr<Graph> LoadModelBytes(std::string_view bytes, const LoadOptions& options = {});

}  // namespace onnx_cudnn
