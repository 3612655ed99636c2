#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {

// Properties of a sliding window. Odd kernels with stride 1 keep the extent unless `valid`.
struct SlidingWindow {
  int64_t height = 1, width = 1;
  int64_t stride = 1;
  bool valid = false;  // no padding; otherwise half a kernel on each side
  static SlidingWindow Square(int64_t kernel, int64_t stride = 1, bool valid = false) {
    return {kernel, kernel, stride, valid};
  }
};

// Builds a static f32 Graph Node by Node, with types inferred at once; Nodes are named by op and
// number: "conv3". All weights are slices of one shared buffer of small numbers, so that large
// networks need no memory. Aborts if inference refuses a Node.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(std::string_view name);

  Value& Input(std::string_view name, Dims dims);
  Value& Weight(Dims dims);
  Value& Ints(absl::Span<const int64_t> values);
  Value& Scalar(float value);

  // A Node with one output; nullptr is an absent input.
  Value& Op(std::string_view op, std::vector<Value*> inputs, Attrs attrs = {});
  // A Conv with weights and bias. groups: 1, or the channels of `x` for a depthwise one.
  Value& Conv(Value& x, int64_t channels, SlidingWindow window = {}, int64_t groups = 1);
  Value& ConvTranspose(Value& x, int64_t channels, int64_t kernel_and_stride);
  Value& BatchNorm(Value& x);
  Value& Pool(std::string_view op, Value& x, SlidingWindow window);  // MaxPool or AveragePool
  Value& Concat(std::vector<Value*> inputs, int64_t axis = 1);
  Value& Relu(Value& x) { return Op("Relu", {&x}); }
  Value& Sum(Value& a, Value& b) { return Op("Add", {&a, &b}); }
  Value& Linear(Value& x, int64_t features);  // MatMul over the last axis, then Add of a bias
  Value& Reshape(Value& x, absl::Span<const int64_t> dims);
  Value& Transpose(Value& x, absl::Span<const int64_t> order);
  // GlobalAveragePool, Flatten, Gemm.
  Value& Classify(Value& x, int64_t classes);

  void Output(std::string name, Value& value) { graph_.AddOutput(std::move(name), value); }
  Graph Finish() && { return std::move(graph_); }

 private:
  Graph graph_;
  ShapeInference inference_;
  int64_t next_weight_ = 0;  // offset of the next weight in the shared buffer
};

}  // namespace onnx_cudnn
