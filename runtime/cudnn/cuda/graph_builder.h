#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/cudnn/cuda/cudnn_graph.h"
#include "runtime/cudnn/cuda/tensor_view.h"
#include "runtime/plan/engine.h"
#include "runtime/plan/strided_view.h"

namespace onnx_cudnn {

// Builds the CudnnGraph of a Candidate, one operation at a time. Nodes arrive in topological order.
class GraphBuilder {
 public:
  explicit GraphBuilder(const Candidate& candidate);

  const Candidate& candidate() const { return candidate_; }
  const CudnnTensor& tensor(int i) const { return graph_.tensors[i]; }
  // The Format of a Value at the Candidate's boundary; nullptr for other Values.
  const Format* FormatOf(const Value& value) const;

  // The tensor for a Value that a Node reads, as `view` describes it. A constant of one element is
  // a number.
  //   errors  Unimplemented: the Value has another layout
  absl::StatusOr<int> Read(const Value& value, const CudnnTensorView& view);
  // The tensor for a view of a row-major input.
  absl::StatusOr<int> ReadView(const StridedView& view);
  // A constant viewed with `dims`, in `format`; `layout` is the same for cuDNN.
  int ReadConstant(const Value& value, Dims dims, const Format& format, TensorLayout layout);
  int Number(double number, size_t rank);
  // A virtual tensor between two operations.
  int Between(TensorLayout layout, DType dtype = DType::kF32);
  // The tensor for a Value that a Node writes; an output of the Candidate if it is used outside.
  absl::StatusOr<int> Write(const Value& value, const CudnnTensorView& view);
  // The same for a row-major output, whose bytes `view` describes with other dims.
  absl::StatusOr<int> WriteDense(const Value& value, const CudnnTensorView& view);
  // Records that `value`, which a Node writes, is `tensor` unchanged.
  absl::Status WriteAs(const Value& value, int tensor, const CudnnTensorView& view);

  void Add(CudnnOperation operation) { graph_.operations.push_back(std::move(operation)); }
  CudnnGraph Finish(DType dtype) &&;

 private:
  int Output(int index, const Value& value, TensorLayout layout);
  int Append(CudnnTensor tensor);  // or returns the index of an equal tensor that is not virtual

  const Candidate& candidate_;
  const Boundary boundary_;
  std::map<const Value*, int> written_;
  CudnnGraph graph_;
};

// The number that a constant of one element holds; nullopt for other Values.
std::optional<double> NumberIn(const Value& value);

}  // namespace onnx_cudnn
