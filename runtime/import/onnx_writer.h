#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Serializes `graph` as an ONNX model of the newest opset, with all data inline. Names are kept; a
// name that a body shares with an outer graph gets a number. Bodies refer to captures by their
// outer names. Each graph output has its own name: that of its Value, or of an Identity if the
// Value is an input, a constant or another output.
//   errors  FailedPrecondition: a Node of our own domain. Unimplemented: two opsets of one domain.
//           ResourceExhausted: more bytes than a message may have
absl::StatusOr<std::string> WriteModel(const Graph& graph);

// The same without the data of larger initializers: `put` keeps it, as external data, and returns
// its location. LoadModelPart reads such a model.
absl::StatusOr<std::string> WriteModelWithout(
    const Graph& graph, absl::FunctionRef<std::string(const HostTensor& data)> put);

struct WrittenModel {
  std::string bytes;
  int opset = 0, ir_version = 0;
  std::string reason;  // the op that needs an opset later than the one asked for; empty: none
};

// The oldest opset that is written.
inline constexpr int kOldestWrittenOpset = 6;

// Which opset a file may have.
enum class OpsetRule : uint8_t {
  kThis,     // the one asked for
  kOrLater,  // the next later one in which every op can be written
};

// Texts about Nodes for people, by keys. Runtimes ignore them, viewers show them.
using NodeMetadata = std::map<const Node*, std::vector<std::pair<std::string, std::string>>>;

// The same as a model of `opset` (kOldestWrittenOpset to kNewestOpset), with the version of the
// file format that came with it. Ops are written in the forms that they have in that opset; results
// stay the same.
//   metadata  of Nodes of the Graph and of its bodies
//   errors    as above. Unimplemented: with kThis, an op that needs a later opset
absl::StatusOr<WrittenModel> WriteModelOf(const Graph& graph, int opset, OpsetRule rule,
                                          const NodeMetadata& metadata = {});

// WriteModel to the file `path`, which is replaced once everything is written. Also the errors of
// base/file.h.
absl::Status WriteModelFile(const Graph& graph, const std::string& path);

}  // namespace onnx_cudnn
