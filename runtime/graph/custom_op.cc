#include "runtime/graph/custom_op.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/graph/dlpack_types.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {
namespace {

using OpKey = std::pair<std::string, std::string>;  // name, domain

// Never destroyed: Nodes refer to ops until the process ends.
struct CustomOpTable {
  absl::Mutex mutex;
  std::map<OpKey, std::unique_ptr<const CustomOp>> ops ABSL_GUARDED_BY(mutex);
};
CustomOpTable& TheTable() {
  static CustomOpTable& table = *new CustomOpTable;
  return table;
}

bool IsOnnxDomain(std::string_view domain) {
  return domain.empty() || domain == "onnx" || domain == "ai.onnx" ||
         domain.starts_with("ai.onnx.") || domain == kOwnDomain;
}

absl::Status CheckNames(const CustomOp& op) {
  const std::string where = absl::StrCat("op ", op.domain, ".", op.name);
  if (op.name.empty() || IsOnnxDomain(op.domain)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": expected a name and a domain of your own"));
  }
  // Rewrites and engines know ONNX's ops by name.
  constexpr std::string_view kOwnOps[] = {"BoundedCompress", "BoundedNonMaxSuppression",
                                          "BoundedNonZero",  "BoundedUnique",
                                          "FirstElements",   "Reformat",
                                          "Transfer"};
  const bool is_own =
      std::find(std::begin(kOwnOps), std::end(kOwnOps), op.name) != std::end(kOwnOps);
  if (IsOnnxOp(op.name) || is_own) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": ONNX has an op of this name, expected another one"));
  }
  return absl::OkStatus();
}

// The operands as a callback gets them.
class CallTensors {
 public:
  CallTensors(absl::Span<const CustomOperand> inputs, absl::Span<const CustomOperand> outputs,
              DLDevice device) {
    tensors_.reserve(inputs.size() + outputs.size());  // pointers to elements stay valid
    Add(inputs, device, inputs_);
    Add(outputs, device, outputs_);
  }
  onnx_cudnn_op_tensors get() const {
    return {.struct_size = sizeof(onnx_cudnn_op_tensors),
            .inputs = inputs_.data(),
            .input_count = inputs_.size(),
            .outputs = outputs_.data(),
            .output_count = outputs_.size()};
  }

 private:
  void Add(absl::Span<const CustomOperand> operands, DLDevice device,
           std::vector<const DLTensor*>& pointers) {
    for (const CustomOperand& operand : operands) {
      if (operand.dtype == DType::kUndefined) {
        pointers.push_back(nullptr);
        continue;
      }
      tensors_.push_back({.data = operand.data,
                          .device = device,
                          .ndim = static_cast<int32_t>(operand.dims.size()),
                          .dtype = DLTypeOf(operand.dtype),
                          .shape = const_cast<int64_t*>(operand.dims.data()),
                          .strides = nullptr,
                          .byte_offset = 0});
      pointers.push_back(&tensors_.back());
    }
  }

  std::vector<DLTensor> tensors_;
  std::vector<const DLTensor*> inputs_, outputs_;
};

constexpr DLDevice kHost = {kDLCPU, 0};

// The status of a callback that returned `answer`.
absl::Status Answered(const CustomOp& op, const onnx_cudnn_op_call& call, int32_t answer) {
  if (answer == 0) return absl::OkStatus();
  const std::string why = call.error.empty() ? absl::StrCat("error ", answer) : call.error;
  return absl::InvalidArgumentError(absl::StrCat(op.domain, ".", op.name, ": ", why));
}

// Types without data, of a Node's inputs or outputs; `dims` keeps them.
std::vector<CustomOperand> TypesOf(absl::Span<Value* const> values, std::vector<Dims>& dims) {
  dims.resize(values.size());
  std::vector<CustomOperand> operands(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == nullptr) continue;
    for (const Dim& dim : values[i]->type().dims) {
      dims[i].push_back(dim.value < 0 ? -1 : dim.value);
    }
    operands[i] = {.dtype = values[i]->dtype(), .dims = dims[i]};
  }
  return operands;
}

}  // namespace

const CustomOp* FindCustomOp(std::string_view op, std::string_view domain) {
  CustomOpTable& table = TheTable();
  absl::MutexLock lock(table.mutex);
  auto found = table.ops.find(OpKey(op, domain));
  return found == table.ops.end() ? nullptr : found->second.get();
}

absl::Status RegisterCustomOps(std::vector<CustomOp> ops) {
  CustomOpTable& table = TheTable();
  absl::MutexLock lock(table.mutex);
  std::map<OpKey, std::unique_ptr<const CustomOp>> added;
  for (CustomOp& op : ops) {
    RETURN_IF_ERROR(CheckNames(op));
    OpKey key(op.name, op.domain);
    auto other = table.ops.find(key);
    if (other != table.ops.end() || added.contains(key)) {
      return absl::InvalidArgumentError(
          absl::StrCat("op ", op.domain, ".", op.name, " is registered already, by ",
                       other == table.ops.end() ? op.library : other->second->library));
    }
    added.emplace(std::move(key), std::make_unique<CustomOp>(std::move(op)));
  }
  table.ops.merge(added);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Type>> InferCustomOp(const CustomOp& op, const Node& node) {
  std::vector<Type> types(node.outputs().size(), Type{.kind = Type::Kind::kTensor});
  for (const Value* v : node.inputs()) {
    if (v != nullptr && (!v->type().is_tensor() || !v->type().ranked)) return types;  // not yet
  }
  std::vector<Dims> dims;
  const std::vector<CustomOperand> inputs = TypesOf(node.inputs(), dims);
  const CallTensors tensors(inputs, {}, kHost);
  onnx_cudnn_op_tensors given = tensors.get();
  given.output_count = types.size();
  onnx_cudnn_op_call call{.node = &node, .outputs = std::move(types)};
  RETURN_IF_ERROR(Answered(op, call, op.functions.infer(op.functions.context, &call, &given)));
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (node.outputs()[i] == nullptr || call.outputs[i].dtype != DType::kUndefined) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(op.domain, ".", op.name, ": its library sets no type of output ", i));
  }
  return std::move(call.outputs);
}

absl::Status RunCustomOp(const CustomOp& op, const Node& node,
                         absl::Span<const CustomOperand> inputs,
                         absl::Span<const CustomOperand> outputs) {
  const CallTensors tensors(inputs, outputs, kHost);
  const onnx_cudnn_op_tensors given = tensors.get();
  onnx_cudnn_op_call call{.node = &node};
  return Answered(op, call, op.functions.run(op.functions.context, &call, &given));
}

absl::Status LaunchCustomOp(const CustomOp& op, const Node& node,
                            absl::Span<const CustomOperand> inputs,
                            absl::Span<const CustomOperand> outputs, int device_ordinal,
                            void* stream) {
  const CallTensors tensors(inputs, outputs, {kDLCUDA, device_ordinal});
  const onnx_cudnn_op_tensors given = tensors.get();
  onnx_cudnn_op_call call{.node = &node};
  return Answered(op, call, op.functions.launch(op.functions.context, &call, &given, stream));
}

onnx_cudnn_op_price PriceOfCustomOp(const CustomOp& op, const Node& node) {
  onnx_cudnn_op_price price = {.struct_size = sizeof(price)};
  if (op.functions.price == nullptr) return price;
  std::vector<Dims> input_dims, output_dims;
  const std::vector<CustomOperand> inputs = TypesOf(node.inputs(), input_dims);
  const std::vector<CustomOperand> outputs = TypesOf(node.outputs(), output_dims);
  const CallTensors tensors(inputs, outputs, kHost);
  const onnx_cudnn_op_tensors given = tensors.get();
  onnx_cudnn_op_call call{.node = &node};
  const bool known = op.functions.price(op.functions.context, &call, &given, &price) == 0 &&
                     price.us >= 0 && price.flops >= 0 && price.bytes >= 0;
  return known ? price : onnx_cudnn_op_price{.struct_size = sizeof(price)};
}

}  // namespace onnx_cudnn
