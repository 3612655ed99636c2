#include "runtime/cudnn/cuda/graph_text.h"

#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

// Each field has a value of its own.
CudnnGraph Example() {
  CudnnGraph graph{.dtype = DType::kF16};
  graph.tensors = {{.kind = CudnnTensor::Kind::kInput,
                    .index = 1,
                    .offset = 256,
                    .dtype = DType::kBF16,
                    .dims = {1, 64, 7, 7},
                    .strides = {3136, 1, 448, 64}},
                   {.kind = CudnnTensor::Kind::kNumber, .number = -0.5F},
                   {.kind = CudnnTensor::Kind::kVirtual, .dtype = DType::kBool}};
  graph.operations = {
      {.kind = CudnnOperation::Kind::kConvolution,
       .in = {0, 1},
       .out = 2,
       .window = {{3, 3}, {2, 1}, {1, 4}, {5, 6}, {7, 8}},
       .counts_padding = true},
      {.kind = CudnnOperation::Kind::kPointwise,
       .in = {2},
       .out = 2,
       .mode = PointwiseMode::kTanh,
       .lower = -0.25,
       .upper = 6,
       .slope = 0.125,
       .beta = 1.702},
      {.kind = CudnnOperation::Kind::kReduction,
       .in = {2},
       .out = 0,
       .reduction = CudnnOperation::Reduction::kMax},
      {.kind = CudnnOperation::Kind::kAttention, .in = {0, 0, 0, 1}, .out = 2, .is_causal = true}};
  return graph;
}

TEST(GraphTextTest, ComesBackEqual) {
  const absl::StatusOr<CudnnGraph> read = ParseCudnnGraph(ToText(Example()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->dtype, Example().dtype);
  EXPECT_EQ(read->tensors, Example().tensors);
  ASSERT_EQ(read->operations.size(), 4u);
  const CudnnOperation &conv = read->operations[0], &tanh = read->operations[1];
  EXPECT_EQ(conv.in, (std::vector<int>{0, 1}));
  EXPECT_EQ(conv.window.stride, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(conv.window.pad_behind, (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(conv.upper, std::numeric_limits<double>::infinity());
  EXPECT_EQ(tanh.mode, PointwiseMode::kTanh);
  EXPECT_EQ(tanh.beta, 1.702);
  EXPECT_EQ(ToText(*read), ToText(Example()));
}

TEST(GraphTextTest, RefusesWhatIsCutOrBent) {
  const std::string text = ToText(Example());
  for (size_t size = 0; size < text.size(); ++size) {
    const absl::StatusOr<CudnnGraph> read = ParseCudnnGraph(text.substr(0, size));
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << size;
  }
  EXPECT_FALSE(ParseCudnnGraph(text + " 0").ok());
  for (size_t at = 0; at < text.size(); ++at) {
    std::string bent = text;
    bent[at] = '9';
    ParseCudnnGraph(bent).IgnoreError();  // whatever it answers, it reads nothing outside
  }
}

TEST(GraphTextTest, RefusesAnOperationOfATensorThatIsNone) {
  CudnnGraph graph = Example();
  graph.operations[1].in = {3};
  EXPECT_FALSE(ParseCudnnGraph(ToText(graph)).ok());
  graph = Example();
  graph.operations[1].out = -1;
  EXPECT_FALSE(ParseCudnnGraph(ToText(graph)).ok());
}

}  // namespace
}  // namespace onnx_cudnn
