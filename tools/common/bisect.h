// Finding the pass or the nodes behind a wrong result by halving, for --bisect.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

struct BisectRequest {
  // Runs a Graph without these passes; tensors are parallel to its inputs and outputs.
  std::function<absl::StatusOr<std::vector<HostTensor>>(const Graph& graph,
                                                        const std::vector<std::string>& disabled,
                                                        absl::Span<const HostTensor> inputs)>
      run;
  std::function<absl::StatusOr<bool>(const HostTensor& found, const HostTensor& expected)> differs;
  std::vector<std::string> passes;    // that may be left out, in the order in which they run
  std::vector<std::string> disabled;  // left out in every run
  absl::Time deadline = absl::InfiniteFuture();  // then what was found so far is the result
};

struct Bisection {
  bool differs = false;  // false: the outputs are right, and nothing else is set
  std::string pass;      // without it the outputs are right; empty: they are wrong without any pass
  // With it alone the fault shows; otherwise passes before it are needed too.
  bool pass_is_enough = false;
  std::vector<std::string> disabled;         // in the runs of `reduced`
  Graph reduced;                             // the fewest nodes found that are still wrong
  std::vector<HostTensor> inputs, expected;  // parallel to its inputs and outputs
  std::vector<std::string> nodes;            // "Conv: conv1"
  int runs = 0;
  bool ran_out = false;  // of time
};

// Runs parts of `graph` on the values that the ops' references compute, and compares.
//   graph   static, as imported: no pass has changed it
//   inputs  parallel to graph.inputs()
//   errors  Unimplemented: an op has no reference, or draws random numbers. Those of the first
//           run; a later run that fails counts as one that is right
absl::StatusOr<Bisection> Bisect(const Graph& graph, absl::Span<const HostTensor> inputs,
                                 const BisectRequest& request);

}  // namespace onnx_cudnn
