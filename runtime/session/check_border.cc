#include "runtime/session/check_border.h"

#include <string>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

// The Node that writes `value` or, for an input, the first one that reads it.
const Node* OpAt(const Value& value) {
  if (value.producer() != nullptr) return value.producer();
  return value.uses().empty() ? nullptr : value.uses()[0].node;
}

bool IsRunnable(const Type& type) {
  if (type.is_tensor()) return BitsOf(type.dtype) > 0 || type.dtype == DType::kString;
  if (type.kind == Type::Kind::kUnknown || type.kind == Type::Kind::kSparseTensor) return false;
  return type.element != nullptr && IsRunnable(*type.element);
}

}  // namespace

absl::Status CheckRunnable(std::string_view what, std::string_view name, const Value& value) {
  if (IsRunnable(value.type())) return absl::OkStatus();
  const Type& type = value.type();
  const Node* op = OpAt(value);
  return absl::UnimplementedError(absl::StrFormat("%s \"%s\": %sexpected a tensor, found %s", what,
                                                  name, op == nullptr ? "" : FormOf(*op) + ": ",
                                                  ToString(type)));
}

absl::Status CheckBorder(const Graph& graph) {
  for (const Value* input : graph.inputs()) {
    RETURN_IF_ERROR(CheckRunnable("input", input->name(), *input));
  }
  for (const auto& [name, value] : graph.outputs()) {
    if (value->type().kind == Type::Kind::kUnknown) continue;
    RETURN_IF_ERROR(CheckRunnable("output", name, *value));
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
