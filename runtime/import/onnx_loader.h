#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/base/parts_file.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/node_refusal.h"
#include "runtime/import/limits.h"

namespace onnx_cudnn {

// How external data is brought into memory.
enum class ExternalBytes : uint8_t {
  kRead,  // copied once: safe even if the file changes later
  kMap,   // mapped, not copied: the caller must make sure that nobody truncates or changes the
          // file while its Graph lives
};

struct LoadOptions {
  Limits limits = {};
  ExternalBytes external_bytes = ExternalBytes::kRead;
  // Allows the model and its external data to be links, as in hub caches: the link must end in the
  // directory of the real model.
  bool follow_hub_links = false;
  // nullptr: the first node that is refused is the result. Otherwise it receives all of them, and
  // the Graph is of the other nodes, for checking only.
  LoadRefusals* refusals = nullptr;
};

// The oldest opset of ONNX's default domain that is read; kNewestOpset is the newest.
inline constexpr int kOldestOpset = 1;

// Reads an ONNX model of opset 1 to 28, from a file named .onnxtxt in ONNX's textual syntax: every
// Node is converted to the newest opset and typed as far as ONNX's inference allows, bodies are
// closed, model-local functions are expanded, Constant nodes and initializers become constants. An
// initializer that is also an input (a default that a caller could override) becomes a constant and
// not an input. Nodes are moved after their producers if necessary. Metadata and quantization
// annotations are ignored.
//   errors  InvalidArgument: not a model, or a model that violates ONNX's rules
//           Unimplemented: valid but not supported (opset, domain, sparse tensors, training, a
//           limit)
//           NotFound, DataLoss: files; ResourceExhausted: memory, descriptors
//           Messages name the file and the node and contain nothing else of the file's content.
// Of a compiled model (docs/compiled-models.md) it is the model that it was made from, whose
// weights stay in the mapped file.
absl::StatusOr<Graph> LoadModel(const std::string& path, const LoadOptions& options = {});

// The same for a model in memory; external data is InvalidArgument, since there is no directory.
absl::StatusOr<Graph> LoadModelBytes(std::string_view bytes, const LoadOptions& options = {});

// The part of a compiled model that is the model it was made from.
inline constexpr char kModelPart[] = "model";
// A model that is a part of `file`; its external data are other parts, to which the Graph refers.
//   errors  those of LoadModel and of parts_file.h
absl::StatusOr<Graph> LoadModelPart(std::shared_ptr<const PartsFile> file, std::string_view part,
                                    const LoadOptions& options = {});

}  // namespace onnx_cudnn
