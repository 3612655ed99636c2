// What the kernels of single Nodes support, and the layouts of their operands.
#include "runtime/graph/infer.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

using NodeKernelsTest = KernelsTest;
using Lines = std::vector<std::string>;

const Lines kRows = {"rows > rows"};
const Lines kBoth = {"rows > rows", "last > last"};

struct LayoutCase {
  std::string text;  // of a graph with one Node
  Lines lies;        // without the op
};

// The layouts that the operands of one Node may have.
TEST_F(NodeKernelsTest, KeepLayoutsWhereTheOpAllows) {
  const Lines padded = {"rows > rows", "last > last", "last4 > last4"};
  const Lines last_to_rows = {"rows > rows", "last > rows"};
  const std::vector<LayoutCase> cases = {
      {"g (float[1,8,4,4] x) => (y) { y = MaxPool<kernel_shape = [3,3], pads = [0,1,1,0]>(x) }",
       kBoth},
      {"g (float[1,6,4,4] x) => (y) { y = AveragePool<kernel_shape = [2,2], ceil_mode = 1>(x) }",
       padded},
      {"g (float[2,8,4,4] x) => (y) { y = GlobalAveragePool(x) }", last_to_rows},
      {"g (int8[1,8,4,4] x) => (y) { y = MaxPool<kernel_shape = [2,2]>(x) }", kBoth},
      {"g (float[1,8,4,4] x) => (y) { y = Softmax<axis = 1>(x) }", kBoth},
      {"g (float[1,8,4,4] x) => (y) { y = Softmax(x) }", kRows},
      {"g (float[1,8,4,4] x) => (y) { y = LogSoftmax<axis = -3>(x) }", kBoth},
      {"g (float[1,8,4,4] x) => (y) { y = ArgMax<axis = 1>(x) }", last_to_rows},
      {"g (float[1,8,4,4] x) => (y) { y = ArgMax<axis = 1, keepdims = 0>(x) }", last_to_rows},
      {"g (float[1,8,4,4] x) => (y) { y = ArgMax<axis = 0>(x) }", kRows},
      {"g (float[1,8,4,4] x) => (y) <int64[2] a = {2,3}> { y = ReduceMean(x, a) }", last_to_rows},
      {"g (float[1,8,4,4] x) => (y) <int64[2] a = {-1,-2}> { y = ReduceSum<keepdims = 0>(x, a) }",
       last_to_rows},
      {"g (float[1,8,4,4] x) => (y) <int64[1] a = {1}> { y = ReduceMax(x, a) }", last_to_rows},
      {"g (float[2,8,4,4] x) => (y) <int64[1] a = {3}> { y = ReduceMax(x, a) }", kRows},
      {"g (float[1,8,4,4] x) => (y) <int64[1] a = {1}> { y = ReduceMax<keepdims = 0>(x, a) }",
       kRows},
      {"g (float[1,8,4,4] x) => (y) <float[4] s = {1,1,2,2}> { y = Resize(x, , s) }", kBoth},
      {"g (float[1,8,4,4] x) => (y) <int64[8] p = {0,0,1,1,0,0,0,0}> { y = Pad(x, p) }", kBoth},
      {"g (float[1,8,4,4] x) => (y) { y = DepthToSpace<blocksize = 2>(x) }", kBoth},
      {"g (float[1,8,4,4] x) => (y) { y = LRN<size = 3>(x) }", kBoth},
      {"g (float[1,8,4,4] x) => (y) { y = MeanVarianceNormalization(x) }", kBoth},
      {"g (float[1,8,4,4] x) => (y) { y = MeanVarianceNormalization<axes = [1,2]>(x) }", kRows},
      {"g (float[1,8,4,4] x) => (y) { y = LpNormalization<axis = 1>(x) }", kBoth},
      {"g (float[2,8,4,4] x) => (y) <int64[2] i = {1,0}> { y = Gather(x, i) }", kBoth},
      {"g (float[2,8,4,4] x) => (y) <int64[2] i = {1,0}> { y = Gather<axis = 1>(x, i) }", kRows},
      {"g (float[2,8,4,4] x) => (y) <int64 i = {1}> { y = Gather(x, i) }", kRows},
      {"g (float[1,8,1,1] x) => (y) <int64[4] d = {1,8,4,4}> { y = Expand(x, d) }",
       {"rows > rows", "rows > last"}},
      {"g (float[1,2,3] x) => (y) <int64[1] a = {2}> { y = CumSum(x, a) }", kRows},
      {"g (float[1,4,4] x) => (y) { y = Trilu(x) }", kRows},
      {"g (float[2,3,3] x) => (y) { y = Det(x) }", kRows},
      {"g (float[1,8,4,4] x) => (y) { y = Identity(x) }", kBoth},
      {"g (float[1,8,4,4] x) => (y) { y = Flatten(x) }", kRows},
      {"g (float[2,3,4] x) => (y) { y = Transpose(x) }",
       {"rows > rows", "last > rows", "rows > last", "last > last"}},
  };
  for (const LayoutCase& c : cases) {
    SCOPED_TRACE(c.text);
    const Graph graph = GraphFromText(c.text);
    const Node& node = *graph.TopologicalOrder()[0];
    Lines lies;
    for (const std::string& line : Describe(At(graph, node).candidates)) {
      lies.push_back(line.substr(node.op().size() + 3));
    }
    EXPECT_EQ(lies, c.lies);
  }
}

TEST_F(NodeKernelsTest, ConcatKeepsPaddedInputsOfSeveralWidths) {
  const Graph graph = GraphFromText(R"(
      g (float[1,3,2,2] x, float[1,5,2,2] z) => (float[1,8,2,2] y) { y = Concat<axis = 1>(x, z) })");
  EXPECT_EQ(LinesAt(graph, "Concat"),
            (Lines{"{Concat} rows rows > rows", "{Concat} last last > last",
                   "{Concat} last4 last4 > last"}));
}

TEST_F(NodeKernelsTest, MoveAnyTypeOfWholeBytes) {
  for (const char* type : {"float16", "double", "int8", "uint16", "bool", "complex64"}) {
    const Graph graph =
        GraphFromText(std::string("g (") + type + "[2,3] x) => (y) { y = Transpose(x) }");
    EXPECT_FALSE(LinesAt(graph, "Transpose").empty()) << type;
  }
  const Graph packed = GraphFromText("g (int4[2,3] x) => (y) { y = Identity(x) }");
  const Proposed proposed = At(packed, "Identity");
  EXPECT_TRUE(proposed.candidates.empty());
  EXPECT_EQ(proposed.reasons, (Lines{"copy: x is i4[2,3], not a static tensor of whole bytes"}));
}

TEST_F(NodeKernelsTest, ReadParametersOnTheDevice) {  // starts come with the run
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {4}));
  Value& starts = graph.AddInput("s", Type::Tensor(DType::kI64, {1}));
  Value& ends = graph.AddInput("e", Type::Tensor(DType::kI64, {1}));
  Node& slice = graph.AddNode({.op = "Slice", .inputs = {&x, &starts, &ends}});
  graph.SetType(slice.output(0), Type::Tensor(DType::kF32, {2}));
  graph.AddOutput("y", slice.output(0));
  EXPECT_EQ(LinesAt(graph, "Slice"), (Lines{"{Slice} rows rows rows > rows"}));
}

TEST_F(NodeKernelsTest, ReportOpsWithoutAKernel) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  const Node& node = graph.AddNode({.op = "NoSuchOp", .inputs = {&x}});
  EXPECT_EQ(At(graph, node).reasons, (Lines{"no kernel is written for it"}));
}

TEST_F(NodeKernelsTest, RowNormTakesFactorsOfARow) {
  // Those of row_norm: row_group refuses more.
  const auto reasons_at = [&](const Graph& graph) {
    Lines reasons = At(graph, "LayerNormalization").reasons;
    std::erase_if(reasons, [](const std::string& r) { return !r.starts_with("row_norm"); });
    return reasons;
  };
  const auto reasons = [&](std::string_view scale) {
    return reasons_at(
        GraphFromText(absl::StrCat("g (float[2,3,4] x, float", scale,
                                   " s) => (y) { y = LayerNormalization<axis = 1>(x, s) }")));
  };
  for (const char* scale : {"[3,4]", "[1,3,4]", "[1]"}) EXPECT_EQ(reasons(scale), Lines());
  const Graph empty = GraphFromText(
      "g (float[0,4] x, float[0,4] s, float[0,1] b) => (y) { y = LayerNormalization<axis = 0>(x, "
      "s, b) }");
  EXPECT_EQ(reasons_at(empty), Lines());
  EXPECT_EQ(reasons("[4]"), (Lines{"row_norm: s is f32[4], expected one element or the normalized "
                                   "axes [3,4]"}));
}

TEST_F(NodeKernelsTest, LeaveOperandsThatDoNotFitToTheReference) {
  const auto reasons = [&](std::string_view text) {
    const Graph graph = GraphFromText(text);
    return At(graph, graph.outputs()[0].value->producer()->op()).reasons;
  };
  EXPECT_EQ(reasons("g (float[2] x, float[2,2] s) => (y) { y = PRelu(x, s) }"),
            (Lines{"pointwise: s is f32[2,2], which does not broadcast to f32[2]"}));
  EXPECT_EQ(reasons("g (float[1,4,3] x, float[1] s, float[4] b) => (y)"
                    " { y = InstanceNormalization(x, s, b) }"),
            (Lines{"plane_norm: s is f32[1], expected an element for each of 4 channels"}));
  EXPECT_EQ(reasons("g (float[1,4,3] x, float[4] s, float[4] b) => (y)"
                    " { y = GroupNormalization<num_groups = 3>(x, s, b) }"),
            (Lines{"plane_norm: its channels are no multiple of its groups"}));
}

TEST_F(NodeKernelsTest, QuantizeTakesScalesOfFloats) {
  const Graph graph =
      GraphFromText("g (int32[4] x, int32 s, int8 z) => (y) { y = QuantizeLinear(x, s, z) }");
  EXPECT_EQ(At(graph, "QuantizeLinear").reasons,
            (Lines{"quantize: its scale is i32, expected a float"}));
}

TEST_F(NodeKernelsTest, RefuseOtherFormatsAndMemories) {
  const Graph graph =
      GraphFromText("g (float[1,8,4,4] x) => (y) { y = MaxPool<kernel_shape = [2,2]>(x) }");
  const std::vector<Candidate> candidates = At(graph, "MaxPool").candidates;
  Candidate mixed = candidates[0];
  mixed.outputs = candidates[1].outputs;
  EXPECT_EQ(engine_->Check(graph, mixed, target_).reason(),
            "pool: its operands may not lie as (1:8 2:4 3:4) to (2:3 3:3 1:8)");
  Candidate in_host = candidates[0];
  in_host.inputs[0].space = Space::kHost;
  EXPECT_EQ(engine_->Check(graph, in_host, target_).reason(), "pool: x is in host memory");
}

TEST_F(NodeKernelsTest, RunOneNodeAtATime) {
  const Graph graph = GraphFromText(R"(
      g (float[1,8,4,4] x) => (y)
      { a = MaxPool<kernel_shape = [2,2]>(x)
        y = LRN<size = 3>(a) })");
  Candidate both = At(graph, "MaxPool").candidates[0];
  both.nodes.push_back(&FindNode(graph, "LRN"));
  EXPECT_EQ(engine_->Check(graph, both, target_).reason(),
            "pool: it runs one node at a time; local_norm: it runs one node at a time");
}

TEST_F(NodeKernelsTest, MoversArePricedByBytes) {
  const Graph graph = GraphFromText("g (float[1024,4096] x) => (y) { y = Transpose(x) }");
  const Cost cost = At(graph, "Transpose").candidates[0].cost;
  EXPECT_EQ(cost.bytes, 2 * 4 * 1024 * 4096);
  EXPECT_NEAR(cost.us, static_cast<double>(cost.bytes) / (0.8 * 4.29e6) + 1.82, 1e-9);
}

TEST_F(NodeKernelsTest, PricesFollowTheSharesOfTheDevice) {
  const Graph graph =
      GraphFromText("g (float[1024,4096] x) => (y, i) <int64[1] k = {4096}> { y, i = TopK(x, k) }");
  const auto us = [&](double top_k, double usual) {
    Target target = target_;
    target.info.calibration.kernels.traffic.top_k = top_k;
    target.info.calibration.kernels.traffic.usual = usual;
    const Node& node = FindNode(graph, "TopK");
    return ProposedBy(*engine_, graph, node, target).candidates.at(0).cost.us;
  };
  // Launches take the same time whatever the share.
  constexpr double kEighth = 1.0 / 8, kSixteenth = 1.0 / 16, kThirtySecond = 1.0 / 32;
  const double more = us(kSixteenth, 0.8) - us(kEighth, 0.8);
  EXPECT_GT(more, 0);
  EXPECT_NEAR(us(kThirtySecond, 0.8) - us(kSixteenth, 0.8), 2 * more, 1e-9);
  EXPECT_EQ(us(kEighth, 0.4), us(kEighth, 0.8));
}

TEST_F(NodeKernelsTest, GatherReadsNoMoreThanItWrites) {
  const Graph graph =
      GraphFromText("g (float[100000,16] x) => (y) <int64[2] i = {1,0}> { y = Gather(x, i) }");
  EXPECT_EQ(At(graph, "Gather").candidates[0].cost.bytes, 128 + 128 + 16);
}

class ConversionTest : public KernelsTest {
 protected:
  ConversionTest() {
    Value& x = graph_.AddInput("x", type_);
    for (const char* op : {"Reformat", "Transfer"}) {
      Node& node =
          graph_.AddNode({.op = op, .inputs = {&x}, .domain = std::string(kOwnDomain), .opset = 1});
      graph_.SetType(node.output(0), type_);
      graph_.AddOutput(op, node.output(0));
    }
  }
  Candidate Convert(std::string_view op, Placement from, Placement to) const {
    return {.nodes = {&FindNode(graph_, op)}, .engine = engine_, .inputs = {from}, .outputs = {to}};
  }
  std::string Reason(const Candidate& candidate) const {
    return engine_->Check(graph_, candidate, target_).reason();
  }

  const Dims dims_ = {1, 3, 2, 2};
  const Type type_ = Type::Tensor(DType::kF32, dims_);
  const Placement rows_ = {Format::RowMajor(dims_)}, padded_ = {Format::ChannelsLast(dims_, 4)};
  const Placement host_ = {Format::RowMajor(dims_), Space::kHost};
  Graph graph_;
};

TEST_F(ConversionTest, ReformatsAnythingOnTheDevice) {
  EXPECT_EQ(Reason(Convert("Reformat", rows_, padded_)), "");
  EXPECT_EQ(Reason(Convert("Reformat", padded_, rows_)), "");
  EXPECT_EQ(Reason(Convert("Reformat", rows_, host_)), "an operand is in host memory");
  EXPECT_TRUE(At(graph_, "Reformat").candidates.empty());
}

TEST_F(ConversionTest, TransfersEqualFormats) {
  EXPECT_EQ(Reason(Convert("Transfer", rows_, host_)), "");
  EXPECT_EQ(Reason(Convert("Transfer", host_, rows_)), "");
  EXPECT_EQ(Reason(Convert("Transfer", rows_, rows_)), "both sides are in one memory");
  EXPECT_EQ(Reason(Convert("Transfer", host_, padded_)), "its formats differ");
}

TEST_F(ConversionTest, ATransferCostsMoreThanAReformat) {
  EXPECT_GT(engine_->Price(Convert("Transfer", rows_, host_), target_).us,
            engine_->Price(Convert("Reformat", rows_, padded_), target_).us);
}

}  // namespace
}  // namespace onnx_cudnn
