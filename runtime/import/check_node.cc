#include "runtime/import/check_node.h"

#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/onnx_schemas.h"

namespace onnx_cudnn {
namespace {

using Parameter = onnx::OpSchema::FormalParameter;
using onnx::AttributeProto;
using onnx::OpSchema;

// The AttributeProto type of each alternative of Attribute, in order.
constexpr AttributeProto::AttributeType kAttributeTypes[] = {
    AttributeProto::INT,    AttributeProto::FLOAT,   AttributeProto::STRING,
    AttributeProto::INTS,   AttributeProto::FLOATS,  AttributeProto::STRINGS,
    AttributeProto::TENSOR, AttributeProto::TENSORS, AttributeProto::TYPE_PROTO};
static_assert(std::size(kAttributeTypes) == std::variant_size_v<Attribute>);

// Checks `count` inputs or outputs; present(i) tells whether one is present.
absl::Status CheckParameters(std::string_view what, const std::vector<Parameter>& parameters,
                             int least, int most, int count, auto present) {
  if (count < least || count > most) {
    return absl::InvalidArgumentError(absl::StrCat("has ", count, " ", what, "s, the op has ",
                                                   least, least == most ? "" : " or more"));
  }
  for (int i = 0; i < static_cast<int>(parameters.size()); ++i) {
    const bool needed = parameters[i].GetOption() == OpSchema::Single;
    if (needed && (i >= count || !present(i))) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " ", i, " (", parameters[i].GetName(), ") is missing"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAttribute(const OpSchema& schema, const std::string& name,
                            AttributeProto::AttributeType type) {
  auto found = schema.attributes().find(name);
  if (found == schema.attributes().end()) {
    return absl::InvalidArgumentError(absl::StrCat("the op has no attribute \"", name, "\""));
  }
  if (found->second.type == type) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("attribute \"", name, "\" is of type ", AttributeProto::AttributeType_Name(type),
                   ", the op's is ", AttributeProto::AttributeType_Name(found->second.type)));
}

absl::Status CheckAttributes(const NodeSpec& spec, const OpSchema& schema) {
  for (const auto& [name, value] : spec.attrs) {
    RETURN_IF_ERROR(CheckAttribute(schema, name, kAttributeTypes[value.index()]));
  }
  for (const auto& [name, body] : spec.bodies) {
    RETURN_IF_ERROR(CheckAttribute(schema, name, AttributeProto::GRAPH));
  }
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.required && !spec.attrs.Has(name) && !spec.bodies.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat("attribute \"", name, "\" is missing"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<const OpSchema*> SchemaOf(const NodeSpec& spec) {
  const auto& domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  if (!domains.contains(spec.domain)) {
    return absl::UnimplementedError(
        absl::StrCat("domain \"", spec.domain, "\" (opset ", spec.opset, ") is not implemented"));
  }
  const OpSchema* schema = FindSchema(spec.op, spec.opset, spec.domain);
  // GroupNormalization's first form is deprecated too, but it is complete and in use.
  if (schema == nullptr || (schema->deprecated() && spec.op != "GroupNormalization")) {
    return absl::InvalidArgumentError(
        absl::StrCat("opset ", spec.opset, " has no such op",
                     spec.domain.empty() ? "" : absl::StrCat(" in domain \"", spec.domain, "\"")));
  }
  return schema;
}

}  // namespace

absl::Status CheckNode(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const OpSchema* schema, SchemaOf(spec));
  RETURN_IF_ERROR(CheckParameters("input", schema->inputs(), schema->min_input(),
                                  schema->max_input(),
                                  static_cast<int>(spec.inputs.size()) - spec.captures,
                                  [&](int i) { return spec.inputs[i] != nullptr; }));
  RETURN_IF_ERROR(CheckParameters("output", schema->outputs(), schema->min_output(),
                                  schema->max_output(), static_cast<int>(spec.outputs.size()),
                                  [&](int i) { return !spec.outputs[i].empty(); }));
  return CheckAttributes(spec, *schema);
}

}  // namespace onnx_cudnn
