#include "runtime/session/segments/value_ops.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/ml_types.h"
#include "runtime/ops/bounded.h"
#include "runtime/session/segments/host_node.h"
#include "runtime/session/segments/map_ops.h"

namespace onnx_cudnn {
namespace {

using ValueOp = NodeResults (*)(const NodeOperands& operands, const ValueMemory& memory);

std::vector<ModelValue> One(ModelValue value) { return {std::move(value)}; }

// The position that operand `i` gives in a sequence of `size`, at most `last`; `otherwise` if it is
// absent.
absl::StatusOr<int64_t> PositionAt(const NodeOperands& operands, size_t i, int64_t size,
                                   int64_t last, int64_t otherwise, const ValueMemory& memory) {
  if (!operands.has(i)) return otherwise;
  ASSIGN_OR_RETURN(const Tensor tensor, operands.TensorAt(i));
  ASSIGN_OR_RETURN(const int64_t given, NumberOf(tensor, memory));
  const int64_t position = given < 0 ? given + size : given;
  if (position >= 0 && position <= last) return position;
  return absl::InvalidArgumentError(
      absl::StrCat("position ", given, " is not in a sequence of ", size, " elements"));
}

NodeResults Construct(const NodeOperands& operands, const ValueMemory&) {
  std::vector<ModelValue> elements;
  for (const auto& value : operands.values) elements.push_back(*value);
  return One(ModelValue::Sequence(std::move(elements)));
}

NodeResults Empty(const NodeOperands&, const ValueMemory&) { return One(ModelValue::Sequence({})); }

NodeResults Insert(const NodeOperands& operands, const ValueMemory& memory) {
  ASSIGN_OR_RETURN(std::vector<ModelValue> elements, operands.SequenceAt(0));
  const auto size = static_cast<int64_t>(elements.size());
  ASSIGN_OR_RETURN(const int64_t at, PositionAt(operands, 2, size, size, size, memory));
  elements.insert(elements.begin() + at, operands[1]);
  return One(ModelValue::Sequence(std::move(elements)));
}

NodeResults Erase(const NodeOperands& operands, const ValueMemory& memory) {
  ASSIGN_OR_RETURN(std::vector<ModelValue> elements, operands.SequenceAt(0));
  const auto size = static_cast<int64_t>(elements.size());
  if (size == 0) return absl::InvalidArgumentError("the sequence is empty");
  ASSIGN_OR_RETURN(const int64_t at, PositionAt(operands, 1, size, size - 1, size - 1, memory));
  elements.erase(elements.begin() + at);
  return One(ModelValue::Sequence(std::move(elements)));
}

NodeResults At(const NodeOperands& operands, const ValueMemory& memory) {
  ASSIGN_OR_RETURN(const std::vector<ModelValue> elements, operands.SequenceAt(0));
  const auto size = static_cast<int64_t>(elements.size());
  ASSIGN_OR_RETURN(const int64_t at, PositionAt(operands, 1, size, size - 1, -1, memory));
  if (at < 0) return absl::InvalidArgumentError("the position is absent");
  return One(elements[at]);
}

NodeResults Length(const NodeOperands& operands, const ValueMemory&) {
  ASSIGN_OR_RETURN(const std::vector<ModelValue> elements, operands.SequenceAt(0));
  const auto size = static_cast<int64_t>(elements.size());
  return One(TensorMaker::Of(HostTensor::Of<int64_t>(DType::kI64, {}, {size})));
}

absl::StatusOr<HostTensor> HostTensorAt(const NodeOperands& operands, size_t i,
                                        const ValueMemory& memory) {
  ASSIGN_OR_RETURN(const Tensor tensor, operands.TensorAt(i));
  return memory.ToHost(tensor);
}

// Concat of the elements; with new_axis after an Unsqueeze of each.
NodeResults Join(const NodeOperands& operands, const ValueMemory& memory) {
  ASSIGN_OR_RETURN(const std::vector<ModelValue> elements, operands.SequenceAt(0));
  if (elements.empty()) return absl::InvalidArgumentError("the sequence is empty");
  int64_t axis = operands.node.attrs().Int("axis", 0);
  const bool is_new = operands.node.attrs().Int("new_axis", 0) != 0;
  std::vector<HostTensor> tensors;
  for (const ModelValue& element : elements) {
    if (element.kind() != ValueKind::kTensor) {
      return absl::InvalidArgumentError("expected a sequence of tensors");
    }
    Tensor tensor = element.tensor();
    if (is_new) {
      Dims dims = tensor.shape();
      const auto rank = static_cast<int64_t>(dims.size()) + 1;
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) {
        return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is not below ", rank));
      }
      dims.insert(dims.begin() + axis, 1);
      tensor = TensorMaker::Reshaped(tensor, std::move(dims));
    }
    ASSIGN_OR_RETURN(tensors.emplace_back(), memory.ToHost(tensor));
  }
  ASSIGN_OR_RETURN(std::vector<HostTensor> joined,
                   RunOnHost({.op = "Concat", .attrs = {{"axis", axis}}}, tensors));
  return One(TensorMaker::Of(joined[0]));
}

// The extents of the pieces along an axis of `extent`.
absl::StatusOr<std::vector<int64_t>> PiecesOf(const NodeOperands& operands, int64_t extent,
                                              const ValueMemory& memory) {
  std::vector<int64_t> pieces;
  int64_t piece = 1;
  if (operands.has(1)) {
    ASSIGN_OR_RETURN(const HostTensor split, HostTensorAt(operands, 1, memory));
    ASSIGN_OR_RETURN(pieces, ToInts(split));
    if (!split.dims().empty()) return pieces;
    piece = pieces.empty() ? 0 : pieces[0];
  }
  if (piece <= 0) return absl::InvalidArgumentError(absl::StrCat("a piece has extent ", piece));
  pieces.assign(extent / piece, piece);
  if (extent % piece != 0) pieces.push_back(extent % piece);
  return pieces;
}

NodeResults SplitUp(const NodeOperands& operands, const ValueMemory& memory) {
  ASSIGN_OR_RETURN(const HostTensor input, HostTensorAt(operands, 0, memory));
  const auto rank = static_cast<int64_t>(input.dims().size());
  int64_t axis = operands.node.attrs().Int("axis", 0);
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " of a tensor of rank ", rank));
  }
  if (axis < 0) axis += rank;
  ASSIGN_OR_RETURN(const std::vector<int64_t> pieces,
                   PiecesOf(operands, input.dims()[axis], memory));
  if (pieces.empty()) return One(ModelValue::Sequence({}));
  ASSIGN_OR_RETURN(const std::vector<HostTensor> parts,
                   RunOnHost({.op = "Split",
                              .attrs = {{"axis", axis}},
                              .outputs = std::vector<std::string>(pieces.size(), "*")},
                             {input, HostTensor::Ints(pieces)}));
  const bool drops_axis = !operands.has(1) && operands.node.attrs().Int("keepdims", 1) == 0;
  std::vector<ModelValue> elements;
  for (const HostTensor& part : parts) {
    Dims dims = part.dims();
    if (drops_axis) dims.erase(dims.begin() + axis);
    elements.emplace_back(TensorMaker::Reshaped(TensorMaker::Of(part), std::move(dims)));
  }
  return One(ModelValue::Sequence(std::move(elements)));
}

NodeResults MakeOptional(const NodeOperands& operands, const ValueMemory&) {
  return One(operands.has(0) ? ModelValue::Optional(operands[0]) : ModelValue::Optional());
}

NodeResults GetElement(const NodeOperands& operands, const ValueMemory&) {
  if (!operands.has(0)) return absl::InvalidArgumentError("input 0 is absent");
  if (operands[0].kind() != ValueKind::kOptional) return One(operands[0]);
  if (operands[0].elements().empty()) return absl::InvalidArgumentError("the optional is empty");
  return One(operands[0].elements()[0]);
}

NodeResults HasElement(const NodeOperands& operands, const ValueMemory&) {
  const bool has = operands.has(0) &&
                   (operands[0].kind() != ValueKind::kOptional || !operands[0].elements().empty());
  return One(TensorMaker::Of(HostTensor::Of<bool>(DType::kBool, {}, {has})));
}

NodeResults Pass(const NodeOperands& operands, const ValueMemory&) {
  if (!operands.has(0)) return absl::InvalidArgumentError("input 0 is absent");
  return One(operands[0]);
}

// Shares the memory of the elements, which is larger than the result.
NodeResults First(const NodeOperands& operands, const ValueMemory& memory) {
  ASSIGN_OR_RETURN(const Tensor elements, operands.TensorAt(0));
  ASSIGN_OR_RETURN(const Tensor counts, operands.TensorAt(1));
  ASSIGN_OR_RETURN(const int64_t count, NumberOf(counts, memory));
  ASSIGN_OR_RETURN(Dims dims, DimsOfFirst(operands.node, count, elements.elements()));
  return One(TensorMaker::Reshaped(elements, std::move(dims)));
}

NodeResults OnHost(const NodeOperands& operands, const ValueMemory& memory) {
  std::vector<std::optional<HostTensor>> inputs(operands.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!operands.has(i)) continue;
    ASSIGN_OR_RETURN(inputs[i], HostTensorAt(operands, i, memory));
  }
  ASSIGN_OR_RETURN(const std::vector<HostTensor> results, RunOnHost(operands.node, inputs));
  std::vector<ModelValue> values;
  for (const HostTensor& result : results) {
    values.emplace_back(result.defined() ? TensorMaker::Of(result) : Tensor());
  }
  return values;
}

// nullptr: not listed.
ValueOp FindValueOp(std::string_view domain, std::string_view op) {
  static const auto& ops = *new std::map<std::string_view, ValueOp>{
      {"ConcatFromSequence", Join},       {"Identity", Pass},
      {"Optional", MakeOptional},         {"OptionalGetElement", GetElement},
      {"OptionalHasElement", HasElement}, {"SequenceAt", At},
      {"SequenceConstruct", Construct},   {"SequenceEmpty", Empty},
      {"SequenceErase", Erase},           {"SequenceInsert", Insert},
      {"SequenceLength", Length},         {"SplitToSequence", SplitUp}};
  static const auto& ml_ops = *new std::map<std::string_view, ValueOp>{
      {"CastMap", CastMap}, {"DictVectorizer", DictVectorizer}, {"ZipMap", ZipMap}};
  if (!domain.empty() && domain != kMlDomain) return nullptr;
  const auto& listed = domain.empty() ? ops : ml_ops;
  const auto found = listed.find(op);
  return found == listed.end() ? nullptr : found->second;
}

}  // namespace

bool IsValueOp(std::string_view domain, std::string_view op) {
  return FindValueOp(domain, op) != nullptr;
}

NodeResults RunValueOp(const NodeOperands& operands, const ValueMemory& memory) {
  const Node& node = operands.node;
  if (IsFirstElements(node)) return First(operands, memory);
  const ValueOp op = FindValueOp(node.domain(), node.op());
  if (op == nullptr) return OnHost(operands, memory);
  NodeResults results = op(operands, memory);
  return results.ok() ? std::move(results) : Annotate(results.status(), Where(node));
}

}  // namespace onnx_cudnn
