#include "tests/ops/run_op.h"

#include <cstring>
#include <memory>

#include "absl/log/check.h"
#include "runtime/base/status.h"
#include "runtime/graph/float16.h"
#include "runtime/graph/infer.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

constexpr int kNanByte = 0xff;  // all bits set: NaN in every floating point type

TensorRef RefOf(const HostTensor& tensor) { return {tensor.dtype(), tensor.dims(), tensor.raw()}; }

Node& AddNode(Graph& graph, const OpRun& run) {
  std::vector<Value*> inputs;
  for (const HostTensor& tensor : run.inputs) {
    inputs.push_back(tensor.defined() ? &graph.AddConstant(tensor) : nullptr);
  }
  return graph.AddNode({.op = run.op,
                        .inputs = inputs,
                        .attrs = run.attrs,
                        .outputs = std::vector<std::string>(run.outputs, "*"),
                        .domain = run.domain,
                        .opset = run.opset});
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> RunOp(const OpRun& run) {
  Graph graph;
  Node& node = AddNode(graph, run);
  RETURN_IF_ERROR(InferShapes(graph));
  std::vector<TensorRef> in;
  for (const HostTensor& tensor : run.inputs) in.push_back(RefOf(tensor));
  std::vector<HostTensor> results;
  std::vector<MutableTensorRef> out;
  for (Value* v : node.outputs()) {
    if (!v->is_static()) return absl::InternalError("the output's shape is not known");
    results.push_back(HostTensor::Allocate(v->dtype(), v->dims()));
    std::memset(results.back().mutable_raw(), kNanByte, results.back().bytes());
  }
  for (HostTensor& t : results) out.push_back({t.dtype(), t.dims(), t.mutable_raw()});
  const OpDef* op = FindOp(node);
  CHECK(op != nullptr) << run.op;
  if (Support s = CheckOp(node); !s) return absl::UnimplementedError(s.reason());
  const int64_t bytes = op->workspace == nullptr ? 0 : op->workspace(node);
  HostTensor workspace = HostTensor::Allocate(DType::kU8, {bytes});
  std::memset(workspace.mutable_raw(), kNanByte, bytes);
  RETURN_IF_ERROR(EvaluateNode({node, in, out, workspace.mutable_raw(), ThreadPool::Default()}));
  return results;
}

Numbers NumbersOf(const HostTensor& tensor) {
  Numbers numbers{.dims = tensor.dims(), .values = {}};
  if (tensor.dtype() == DType::kF16) {
    for (Float16 x : tensor.data<Float16>()) numbers.values.push_back(ToFloat(x));
  } else if (tensor.dtype() == DType::kBF16) {
    for (BFloat16 x : tensor.data<BFloat16>()) numbers.values.push_back(ToFloat(x));
  } else {
    const DType dtype = tensor.dtype() == DType::kBool ? DType::kU8 : tensor.dtype();
    CHECK_OK(DispatchNumber(dtype, [&](auto type) {
      for (auto x : tensor.data<decltype(type)>()) numbers.values.push_back(static_cast<double>(x));
      return absl::OkStatus();
    }));
  }
  return numbers;
}

Numbers RunForNumbers(const OpRun& run) {
  absl::StatusOr<std::vector<HostTensor>> results = RunOp(run);
  CHECK_OK(results.status());
  return NumbersOf(results->front());
}

HostTensor TensorOf(DType dtype, Dims dims, const std::vector<double>& values) {
  HostTensor tensor = HostTensor::Allocate(dtype, std::move(dims));
  CHECK_EQ(tensor.elements(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kF16)
      tensor.mutable_data<Float16>()[i] = ToFloat16(static_cast<float>(values[i]));
    if (dtype == DType::kBF16)
      tensor.mutable_data<BFloat16>()[i] = ToBFloat16(static_cast<float>(values[i]));
  }
  if (dtype == DType::kF16 || dtype == DType::kBF16) return tensor;
  CHECK_OK(DispatchNumber(dtype == DType::kBool ? DType::kU8 : dtype, [&](auto type) {
    using T = decltype(type);
    for (size_t i = 0; i < values.size(); ++i)
      tensor.mutable_data<T>()[i] = static_cast<T>(values[i]);
    return absl::OkStatus();
  }));
  return tensor;
}

HostTensor F32(Dims dims, const std::vector<double>& values) {
  return TensorOf(DType::kF32, std::move(dims), values);
}

std::vector<double> Pattern(int64_t count, uint32_t seed) {
  std::vector<double> values(count);
  uint32_t state = seed * 2654435761u + 12345u;
  for (double& v : values) {
    state = state * 1664525u + 1013904223u;
    v = (static_cast<double>(state >> 16 & 31) - 15.5) / 8;
  }
  return values;
}

}  // namespace onnx_cudnn
