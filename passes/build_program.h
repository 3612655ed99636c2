#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "passes/partition/partitioners.h"
#include "passes/pass.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

struct BuildOptions {
  Partitioner partitioner = Greedy;
  int streams = 1;
  int64_t alignment = 256;  // bytes, of every buffer in an arena
  PassLimits limits;
  std::vector<Remark>* remarks = nullptr;
};

// A static copy of `graph` for inputs of the given dims: shapes inferred, constants folded, own
// outputs made.
//   input_dims  by input name; every input with a dim that is not a number needs an entry
//   errors      InvalidArgument: unknown input, wrong rank, a dim other than the model's number,
//   one symbol with two numbers.
//               Unimplemented: a Value's shape depends on data (Segments will come)
absl::StatusOr<Graph> BindShapes(const Graph& graph,
                                 const std::map<std::string, Dims, std::less<>>& input_dims,
                                 const BuildOptions& options);

// The only driver from a Graph and shapes to a Program.
absl::StatusOr<std::shared_ptr<const Program>> BuildProgram(
    const Graph& graph, const std::map<std::string, Dims, std::less<>>& input_dims,
    const Target& target, const BuildOptions& options);

}  // namespace onnx_cudnn
