// No op falls back to the host for floating types. ops_test.cc checks that every op has a case row.
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/graph/infer.h"
#include "runtime/ops/random_draw.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

// Ops that no kernel supports, and why that is not a fallback, or is left for later.
const std::map<std::string_view, std::string_view>& NotTaken() {
  constexpr std::string_view kLater = "not among the ops that the GPU must run; the host does";
  static const auto& reasons = *new std::map<std::string_view, std::string_view>{
      {"Col2Im", kLater},
      {"DFT", kLater},
      {"DeformConv", kLater},
      {"DynamicQuantizeLinear", "decomposed into reductions and element-wise ops"},
      {"Einsum", "lower-einsum makes it products"},
      {"GRU", kLater},
      {"GridSample", kLater},
      {"If", "control flow: its bodies run by their own Steps"},
      {"LSTM", kLater},
      {"MaxRoiPool", kLater},
      {"MelWeightMatrix", kLater},
      {"RNN", kLater},
      {"Reformat", "its formats are chosen with the partitions around it"},
      {"RoiAlign", kLater},
      {"STFT", kLater},
      {"Shape", "a constant once shapes are bound"},
      {"Size", "a constant once shapes are bound"},
      {"TfIdfVectorizer", kLater},
      {"Transfer", "its formats are chosen with the partitions around it"},
  };
  return reasons;
}

// Whether input `index` is a shape, an axis or an extent, which is constant in a static Graph.
bool IsParameter(const OpCase& c, size_t index) {
  if (c.op == "Range") return true;
  return c.op == "Resize" ? index > 0 : !kFloatTypes.Has(c.inputs[index].dtype());
}

// The case as a Graph: numbers are inputs, parameters are constants.
Graph GraphOf(const OpCase& c) {
  Graph graph;
  std::vector<Value*> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const HostTensor& t = c.inputs[i];
    if (!t.defined()) {
      inputs.push_back(nullptr);
    } else if (IsParameter(c, i)) {
      inputs.push_back(&graph.AddConstant(t));
    } else {
      inputs.push_back(&graph.AddInput(absl::StrCat("x", i), Type::Tensor(t.dtype(), t.dims())));
    }
  }
  Node& node = graph.AddNode(
      {.op = c.op,
       .inputs = inputs,
       .attrs = c.attrs,
       .outputs = std::vector<std::string>(std::max<size_t>(1, c.expected.size()), "*")});
  const absl::Status status = InferShapes(graph);
  EXPECT_TRUE(status.ok()) << c.op << ": " << status;
  for (Value* v : node.outputs()) graph.AddOutput("y", *v);
  return graph;
}

bool TouchesFloats(const Node& node) {
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    for (const Value* v : values) {
      if (v != nullptr && kFloatTypes.Has(v->dtype())) return true;
    }
  }
  return false;
}

using AllOpsTest = KernelsTest;

TEST_F(AllOpsTest, RunOnTheDeviceForFloats) {
  int taken = 0;
  for (const OpCase& c : AllCases()) {
    const Graph graph = GraphOf(c);
    const Node& node = *graph.TopologicalOrder()[0];
    if (!TouchesFloats(node) || IsRandom(node)) continue;  // the host draws random numbers
    const Proposed proposed = At(graph, node);
    // With lengths of keys, heads of 64 and 128 channels alone run there.
    const bool has_lengths = c.op == "Attention" && node.has_input(6);
    EXPECT_EQ(proposed.candidates.empty(), has_lengths || NotTaken().contains(c.op))
        << c.op << ": " << absl::StrJoin(proposed.reasons, "; ");
    taken += !proposed.candidates.empty();
  }
  EXPECT_GT(taken, 100);
}

}  // namespace
}  // namespace onnx_cudnn
