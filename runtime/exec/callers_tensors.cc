#include "runtime/exec/callers_tensors.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

template <typename Pointers>
absl::Status CheckPointers(absl::Span<Value* const> values, const Pointers& pointers,
                           std::string_view what) {
  if (pointers.size() != values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(pointers.size(), " ", what, "s were given, the graph has ", values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (pointers[i] != nullptr || values[i]->elements() == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(what, " ", values[i]->name(),
                                                   " has a null pointer, expected ",
                                                   ToString(values[i]->type())));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPointers(const Graph& graph, absl::Span<const void* const> inputs,
                           absl::Span<void* const> outputs) {
  std::vector<Value*> output_values;
  for (const GraphOutput& output : graph.outputs()) output_values.push_back(output.value);
  RETURN_IF_ERROR(CheckPointers(graph.inputs(), inputs, "input"));
  return CheckPointers(output_values, outputs, "output");
}

bool HasStrings(const Graph& graph) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(),
                     [](const GraphOutput& o) { return o.value->dtype() == DType::kString; });
}

void CopyStrings(const Graph& graph, absl::Span<void* const> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value& value = *graph.outputs()[i].value;
    if (value.dtype() != DType::kString) continue;
    const std::vector<std::string>& strings = value.constant().strings();
    std::copy(strings.begin(), strings.end(), static_cast<std::string*>(outputs[i]));
  }
}

}  // namespace onnx_cudnn
