#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/graph/deciding_inputs.h"
#include "runtime/graph/graph.h"
#include "runtime/session/program_table.h"
#include "runtime/session/transfers.h"

namespace onnx_cudnn {

// The scalar and vector inputs whose values decide shapes or branches. Infers types.
absl::StatusOr<std::vector<int>> DecidingInputs(Graph& graph, const std::vector<ValueInfo>& inputs);

// Those of `values`, by name, that a Session reads before a Run: of inputs that decide shapes, and
// strings.
using InputTensors = std::map<std::string, HostTensor, std::less<>>;
absl::StatusOr<InputTensors> ValuesToRead(const Graph& graph, const std::vector<ValueInfo>& infos,
                                          const InputTensors& values);

// Reads the input values on which a Program depends: strings, and values that decide shapes or
// branches. Thread-safe.
class InputReader {
 public:
  // The references must outlive it.
  //   deciding  result of DecidingInputs
  InputReader(const std::vector<ValueInfo>& inputs, std::vector<int> deciding, Transfers& transfers)
      : inputs_(inputs), deciding_(std::move(deciding)), transfers_(transfers) {}

  // callers_stream  device memory is read after the work enqueued there; may be null
  //   errors  InvalidArgument: strings in null or misaligned memory. Unimplemented: too many
  //           strings
  absl::StatusOr<InputValues> ValuesIn(const std::vector<const TensorView*>& inputs,
                                       void* callers_stream) const;
  // Row-major bytes of a numeric tensor in host or device memory.
  absl::StatusOr<std::string> BytesIn(const TensorView& view, void* callers_stream) const;

 private:
  const std::vector<ValueInfo>& inputs_;
  const std::vector<int> deciding_;
  Transfers& transfers_;
};

}  // namespace onnx_cudnn
