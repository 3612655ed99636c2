// The Engine `kernel` under test, and graphs created Node by Node.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "passes/partition/partitioners.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {

class KernelsTest : public EngineTest {
 protected:
  KernelsTest() : EngineTest("kernel") {}

  // Expects that each partitioner gives `graph` the `partition`, e.g. "kernel {Conv Relu}", and
  // that it runs correctly.
  void ExpectChosen(const Graph& graph, std::string_view partition,
                    const std::vector<Partitioner>& partitioners = {Greedy, CostSearch}) const;

  // Expects that in the Graph of `nodes` on `inputs` no Candidate at the GlobalAveragePool has
  // another Node, and that `kernel` alone says why; "": none does.
  void ExpectPoolAlone(const std::string& inputs, const std::string& nodes,
                       const std::string& kernel, const std::string& says) const;
};

// A constant of small numbers of both signs.
Value& Weights(Graph& graph, DType dtype, const Dims& dims);
// A Node over `inputs` with types inferred.
Value& Append(Graph& graph, std::string op, std::vector<Value*> inputs, Attrs attrs = {});
// 3×3 with stride 2 and pads 1, as in a ResNet's stem.
Value& MaxPool(Graph& graph, Value& x);

}  // namespace onnx_cudnn
