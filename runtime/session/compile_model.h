// Makes compiled models (compiled_model.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/model_value.h"
#include "onnx_cudnn/options.h"
#include "onnx_cudnn/result.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The inputs of a Program, by name.
struct CompiledInputs {
  std::map<std::string, Dims, std::less<>> dims;          // of those that are not static, at least
  std::map<std::string, HostTensor, std::less<>> values;  // of those that decide shapes
};

struct CompileRequest {
  std::string target = "cpu";  // as in MakeTarget
  // Those of the Sessions that will load it: what passes and partitioning read, and the plan cache
  // from which plans are taken. What selects a device is ignored.
  SessionOptions options;
  CompiledInputs inputs;  // of the Program whose plans and forms of weights it holds
};

struct CompileReport {
  int64_t bytes = 0;            // of the file
  int plans = 0;                // entries of the plan cache
  bool has_partitions = false;  // among them the partitions of the Program
  bool has_cover = false;       // if not: the partitions that are chosen without measurements
  int forms = 0;                // of weights, as the Steps want them
  std::string without_forms;    // why there are none
  std::string not_optimized;    // as in CompiledFacts
};

// Writes `model` and what it becomes on the target to the file `path`, which is replaced. Where
// this host has the target's GPU, it compiles the Program to make the forms of weights.
//   errors  those of MakeTarget, of the passes and of files; those of WriteModelWithout for
//   `model`;
//           on the target's GPU those of building the Program
absl::StatusOr<CompileReport> CompileModel(const Graph& model, const CompileRequest& request,
                                           const std::string& path);

// The inputs of a Program of a model with these inputs; values of all of them may be given.
using ChooseInputs = std::function<Result<CompiledInputs>(const std::vector<ValueInfo>& inputs)>;

// The same for the model in a file, for programs that link to the shared library: its kernels then
// stand in the library alone.
//   request  without inputs
//   errors   also those of op libraries, of loading and of `choose`
ONNX_CUDNN_API Result<CompileReport> CompileModelFile(const std::string& model,
                                                      CompileRequest request,
                                                      const ChooseInputs& choose,
                                                      const std::string& path);

}  // namespace onnx_cudnn
