#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/import/upgrade.h"
#include "runtime/import/upgrade_form.h"

namespace onnx_cudnn {
namespace {

Type WithoutFirstDim(const Type& type) {
  Type slice = type;
  if (!slice.dims.empty()) slice.dims.erase(slice.dims.begin());
  return slice;
}

// The Scan of one batch element, as the body of a Scan over the batch.
absl::StatusOr<std::unique_ptr<Graph>> BatchElement(NodeSpec& spec, size_t own, int file_opset) {
  auto body = std::make_unique<Graph>();
  body->set_file_opset(file_opset);
  NodeSpec inner{.op = "Scan",
                 .attrs = spec.attrs,
                 .outputs = std::vector<std::string>(spec.bodies.at("body")->outputs().size(), "*"),
                 .opset = spec.opset,
                 .bodies = std::move(spec.bodies),
                 .captures = spec.captures};
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const Value& outer = *spec.inputs[i];
    inner.inputs.push_back(
        &body->AddInput(outer.name(), i < own ? WithoutFirstDim(outer.type()) : outer.type()));
  }
  ShapeInference inference(*body);
  ASSIGN_OR_RETURN(const std::vector<Value*> results,
                   AppendNode(*body, inference, std::move(inner)));
  for (Value* value : results) body->AddOutput(value->name(), *value);
  return body;
}

}  // namespace

// All inputs and outputs had a batch dim in front: a Scan over the batch of Scans without it.
absl::Status UpgradeScan9(Form& form) {
  NodeSpec& spec = form.spec;
  if (form.input(0) != nullptr) {
    return form.Unimplemented("input \"sequence_lens\" has no newer form");
  }
  if (!spec.bodies.contains("body")) return absl::InvalidArgumentError("there is no body");
  spec.inputs.erase(spec.inputs.begin());
  const size_t own = spec.inputs.size() - spec.captures;
  for (size_t i = 0; i < own; ++i) {
    const Value* input = spec.inputs[i];
    if (input == nullptr) return absl::InvalidArgumentError("an input is missing");
    if (input->type().ranked && input->rank() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(input->name(), " has no batch dim"));
    }
  }
  if (auto* directions = spec.attrs.Get<std::vector<int64_t>>("directions")) {
    spec.attrs.Set("scan_input_directions", *directions);
    spec.attrs.Remove("directions");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Graph> body, BatchElement(spec, own, form.file_opset));
  spec.attrs = {{"num_scan_inputs", static_cast<int64_t>(own)}};
  spec.bodies.clear();
  spec.bodies.emplace("body", std::move(body));
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
