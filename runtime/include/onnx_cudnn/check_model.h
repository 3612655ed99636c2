// Whether a model runs, and where, without running it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "onnx_cudnn/export.h"
#include "onnx_cudnn/model_value.h"
#include "onnx_cudnn/options.h"
#include "onnx_cudnn/result.h"
#include "onnx_cudnn/tensor.h"

namespace onnx_cudnn {

struct CheckModelOptions {
  // Used: target, device, device_ordinal or the first of devices, compute_capability, precision,
  // optimization_level, disabled_passes, pins, map_external_data, follow_hub_links. Without a
  // target the rates are those of the GPU or, if there is none, of "h200"; with DeviceChoice::kCpu
  // they are those of "cpu".
  SessionOptions session;
  // Dims of inputs by name; −1 where the default is taken: 1, and 224 for height and width of
  // images (docs/running.md).
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  // Values of inputs that decide shapes, by name, in host memory.
  std::vector<NamedView> values;
};

// A node that does not run.
struct RefusedNode {
  std::string node;  // its name, or that of its first output; empty: the model as a whole
  std::string op;    // "Resize", "com.microsoft.FusedConv"
  int opset = 0;     // that the model imports for the op's domain; 0: unknown
  ErrorCode code = ErrorCode::kUnimplemented;  // kInvalidArgument: it violates ONNX's rules
  std::string reason;
};

struct EngineNodes {
  // "cudnn", "gemm", "kernel", "view" (nothing is launched), "host"; "between programs": control
  // flow, sequences, strings and ops like NonZero
  std::string engine;
  int64_t nodes = 0;
};

struct ModelCheck {
  std::string target;                // "h200"
  std::vector<ValueInfo> inputs;     // of the model, with the dims for which it was checked
  std::vector<RefusedNode> refused;  // all of them, in the order of the model as far as it is known
  // Nodes that were not checked, because their shapes follow from a refused node.
  int64_t unchecked = 0;
  // Nodes behind shapes, elements or branches that are computed: they are checked in a Run.
  int64_t later = 0;
  // Where the others run, after the rewrites of the optimization level; the most nodes first.
  std::vector<EngineNodes> engines;
  int64_t file_nodes = 0;  // nodes that the loader made from the file, before the rewrites

  // Whether the model loads, and runs with these inputs.
  bool runs() const { return refused.empty() && unchecked == 0; }
};

// Loads and rewrites the model, infers its shapes and asks the engines' rules where each node runs.
// Nothing is allocated on a device and nothing runs: a library may still refuse a plan when it
// compiles it, and the next engine then takes its nodes. Reads the weights, which takes most of the
// time.
//   errors  NotFound, DataLoss: the file. InvalidArgument: it is not a model, or violates ONNX's
//           rules as a whole; an option is wrong. Unimplemented: a limit on models as a whole
ONNX_CUDNN_API Result<ModelCheck> CheckModel(const std::string& path,
                                             const CheckModelOptions& options = {});

}  // namespace onnx_cudnn
