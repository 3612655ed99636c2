#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/cudnn/cuda/cudnn_graph.h"
#include "runtime/cudnn/cuda/tensor_view.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// Makes the CudnnGraph of a Candidate, an operation at a time. Nodes come in topological order.
class GraphBuilder {
 public:
  explicit GraphBuilder(const Candidate& candidate);

  const Candidate& candidate() const { return candidate_; }
  const CudnnTensor& tensor(int i) const { return graph_.tensors[i]; }
  // The Format of a Value that crosses the boundary, nullptr of others.
  const Format* FormatOf(const Value& value) const;

  // What a Node reads, as `view` sees it. A constant of one element is a number.
  //   errors  Unimplemented: it lies otherwise
  absl::StatusOr<int> Read(const Value& value, const CudnnTensorView& view);
  // A constant seen as `dims`, in `format`; `layout` is how cuDNN sees that.
  int ReadConstant(const Value& value, Dims dims, const Format& format, TensorLayout layout);
  int Number(double number, size_t rank);
  // A tensor between two operations.
  int Between(TensorLayout layout, DType dtype = DType::kF32);
  // What a Node writes: an output of the Candidate where it leaves it.
  absl::StatusOr<int> Write(const Value& value, const CudnnTensorView& view);
  // The same of a row-major output, whose bytes `view` sees with other dims.
  absl::StatusOr<int> WriteDense(const Value& value, const CudnnTensorView& view);
  // `value`, which a Node writes, is `tensor` unchanged.
  absl::Status WriteAs(const Value& value, int tensor, const CudnnTensorView& view);

  void Add(CudnnOperation operation) { graph_.operations.push_back(std::move(operation)); }
  CudnnGraph Finish(DType dtype) &&;

 private:
  int Output(int index, const Value& value, TensorLayout layout);
  int Append(CudnnTensor tensor);  // or an equal one that is not virtual

  const Candidate& candidate_;
  const Boundary boundary_;
  std::map<const Value*, int> written_;
  CudnnGraph graph_;
};

// The number that a constant of one element holds; nothing for other Values.
std::optional<double> NumberIn(const Value& value);

}  // namespace onnx_cudnn
