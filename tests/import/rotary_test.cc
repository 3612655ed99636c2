// ONNX's RotaryEmbedding: replaced when it is imported if extents are known, the same as its
// function otherwise.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "passes/build_program.h"
#include "runtime/graph/print.h"
#include "runtime/import/expand_function.h"
#include "runtime/ops/evaluate.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

std::string OpsOf(const Graph& graph) {
  std::string ops;
  for (const Node* node : graph.TopologicalOrder()) absl::StrAppend(&ops, node->op(), " ");
  return ops;
}

constexpr std::string_view kByPlace =
    "float[5,#] c, float[5,#] s) => (y) <int64[2,4] p = {0,1,2,3, 1,2,3,4}> "
    "{ y = RotaryEmbedding<$>(x, c, s, p) }";
constexpr std::string_view kGiven =
    "float[2,4,#] c, float[2,4,#] s) => (y) { y = RotaryEmbedding<$>(x, c, s) }";

// Expects that the op is replaced, with the numbers of ONNX's function.
void ExpectReplaced(std::string_view dims, std::string_view more, std::string_view half,
                    std::string_view attributes) {
  const std::string text = absl::StrCat(
      "g (float[", dims, "] x, ", absl::StrReplaceAll(more, {{"#", half}, {"$", attributes}}));
  SCOPED_TRACE(text);
  const Graph graph = GraphFromText(text);
  EXPECT_EQ(OpsOf(graph).find("RotaryEmbedding"), std::string::npos);
  const size_t row = text.find("] x");
  const std::string open = text.substr(0, text.rfind(',', row) + 1) + "C" + text.substr(row);
  const Graph kept = GraphFromText(open);
  EXPECT_EQ(OpsOf(kept), "RotaryEmbedding ");
  const std::vector<HostTensor> inputs = MakeInputs(graph);
  const absl::StatusOr<OwnedTarget> cpu = MakeTarget("cpu");
  const absl::StatusOr<Graph> function =
      BindShapes(kept, {{"x", inputs[0].dims()}}, {.functions = &kOnnxFunctions}, &cpu->target);
  ASSERT_TRUE(function.ok()) << function.status();
  const auto found = Evaluate(graph, inputs), expected = Evaluate(*function, inputs);
  ASSERT_TRUE(found.ok() && expected.ok()) << found.status() << expected.status();
  EXPECT_TRUE(SameContent((*found)[0], (*expected)[0]));
}

TEST(RotaryImportTest, IsReplacedByPartsThatKernelsJoin) {
  EXPECT_EQ(OpsOf(GraphFromText("g (float[2,3,4,8] x, float[5,4] c, float[5,4] s, int64[2,4] p) "
                                "=> (y) { y = RotaryEmbedding(x, c, s, p) }")),
            "Gather Unsqueeze Gather Unsqueeze Slice Slice Mul Mul Sub Mul Mul Add Concat ");
}

TEST(RotaryImportTest, ComputesWhatTheFunctionComputes) {
  for (const std::string_view more : {kByPlace, kGiven}) {
    for (const char* order : {"interleaved = 0", "interleaved = 1"}) {
      ExpectReplaced("2,3,4,8", more, "4", order);
      ExpectReplaced("2,3,4,8", more, "3", absl::StrCat(order, ", rotary_embedding_dim = 6"));
      ExpectReplaced("2,4,24", more, "4", absl::StrCat(order, ", num_heads = 3"));
      ExpectReplaced("2,4,24", more, "2",
                     absl::StrCat(order, ", num_heads = 3, rotary_embedding_dim = 4"));
    }
  }
}

}  // namespace
}  // namespace onnx_cudnn
