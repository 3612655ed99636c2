// Inputs and outputs of a model: tensors, and ONNX's sequences, optionals and maps of them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "onnx_cudnn/dtype.h"
#include "onnx_cudnn/export.h"
#include "onnx_cudnn/tensor.h"

namespace onnx_cudnn {

enum class ValueKind : uint8_t { kTensor, kSequence, kOptional, kMap };

// A value of any kind. Copies share the tensors' bytes.
class ModelValue {
 public:
  ModelValue(Tensor tensor) : tensor_(std::move(tensor)) {}  // NOLINT: RunValues({{"x", tensor}})
  static ModelValue Sequence(std::vector<ModelValue> elements) {
    return ModelValue(ValueKind::kSequence, Tensor(), std::move(elements));
  }
  static ModelValue Optional() { return ModelValue(ValueKind::kOptional, Tensor(), {}); }  // empty
  static ModelValue Optional(ModelValue element) {
    return ModelValue(ValueKind::kOptional, Tensor(), {std::move(element)});
  }
  //   keys      a vector of integers or strings
  //   elements  parallel to the keys
  static ModelValue Map(Tensor keys, std::vector<ModelValue> elements) {
    return ModelValue(ValueKind::kMap, std::move(keys), std::move(elements));
  }

  ValueKind kind() const { return kind_; }
  // The tensor itself, or the keys of a map; without bytes for other kinds.
  const Tensor& tensor() const { return tensor_; }
  // The elements of a sequence or map; at most one for an optional; none for a tensor.
  const std::vector<ModelValue>& elements() const { return elements_; }

 private:
  ModelValue(ValueKind kind, Tensor tensor, std::vector<ModelValue> elements)
      : kind_(kind), tensor_(std::move(tensor)), elements_(std::move(elements)) {}

  ValueKind kind_ = ValueKind::kTensor;
  Tensor tensor_;
  std::vector<ModelValue> elements_;
};

// An argument, by name or by position among the model's inputs. One call uses either names or
// positions throughout.
struct NamedValue {
  NamedValue(ModelValue value) : value(std::move(value)) {}  // NOLINT: RunValues({tensor})
  NamedValue(Tensor tensor) : value(std::move(tensor)) {}    // NOLINT
  NamedValue(std::string name, ModelValue value) : name(std::move(name)), value(std::move(value)) {}
  std::string name;  // empty: by position
  ModelValue value;
};

// Name and type of an input or an output of the model.
struct ValueInfo {
  struct Extent {
    int64_t value = -1;  // < 0: not a number
    std::string symbol;  // "N"; empty: unknown
  };
  std::string name;
  DType dtype = DType::kUndefined;  // of a tensor's elements, or of a map's keys
  bool ranked = true;               // false: the number of dims is unknown
  std::vector<Extent> dims;         // of a tensor
  ValueKind kind = ValueKind::kTensor;
  // One: the type that a sequence, optional or map holds; empty for a tensor.
  std::vector<ValueInfo> elements;
};
ONNX_CUDNN_API std::string ToString(const ValueInfo& info);  // "x f32[N,3,224,224]"

}  // namespace onnx_cudnn
