#include "runtime/import/check_types.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/graph/onnx_schemas.h"

namespace onnx_cudnn {

absl::Status CheckTypes(const NodeSpec& spec) {
  const onnx::OpSchema* schema = FindSchema(spec.op, spec.opset, spec.domain);
  if (schema == nullptr || schema->inputs().empty()) return absl::OkStatus();
  std::vector<std::pair<std::string_view, DType>> bound;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const auto& parameter = schema->inputs()[std::min(i, schema->inputs().size() - 1)];
    const bool counts = spec.inputs[i] != nullptr && spec.inputs[i]->type().is_tensor() &&
                        spec.inputs[i]->dtype() != DType::kUndefined &&
                        parameter.GetIsHomogeneous();
    if (!counts) continue;
    const std::string_view variable = parameter.GetTypeStr();
    const DType dtype = spec.inputs[i]->dtype();
    auto other = std::find_if(bound.begin(), bound.end(),
                              [&](const auto& b) { return b.first == variable; });
    if (other == bound.end()) {
      bound.emplace_back(variable, dtype);
    } else if (other->second != dtype) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is ", NameOf(dtype),
                                                     ", an earlier one of the same type is ",
                                                     NameOf(other->second)));
    }
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
