#include "runtime/import/downgrade.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/defs/schema.h"
#include "runtime/base/status.h"
#include "runtime/graph/onnx_schemas.h"
#include "runtime/graph/onnx_types.h"
#include "runtime/import/check_node.h"
#include "runtime/import/check_types.h"
#include "runtime/import/downgrade_form.h"
#include "runtime/import/upgrade_form.h"

namespace onnx_cudnn {
namespace {

using Parameter = onnx::OpSchema::FormalParameter;

absl::Status Refused(int opset, std::string_view why) {
  return absl::UnimplementedError(absl::StrCat("opset ", opset, " ", why));
}

// The last of `rows` for `op` with a version above `opset` and at most `newest`.
template <typename Row>
const Row* LastRow(absl::Span<const Row> rows, std::string_view op, int opset, int newest) {
  const auto is_before = [&](const Row& row) {
    return row.op != op ? row.op < op : row.version <= newest;
  };
  const auto end = std::partition_point(rows.begin(), rows.end(), is_before);
  if (end == rows.begin()) return nullptr;
  const Row& row = *std::prev(end);
  return row.op == op && row.version > opset ? &row : nullptr;
}

// Converts `form` to that of `opset`, step by step. Between steps only the number changes.
absl::Status StepBack(OlderForm& form, int opset) {
  NodeSpec& spec = form.spec;
  while (true) {
    const DowngradeRow* back = LastRow(DowngradeRows(), spec.op, opset, spec.opset);
    const UpgradeRow* forth = LastRow(UpgradeRows(), spec.op, opset, spec.opset);
    if (forth != nullptr && (back == nullptr || back->version < forth->version)) {
      return Refused(forth->version - 1, "has only another form of it");
    }
    if (back == nullptr) break;
    spec.opset = back->version - 1;
    if (Support stepped = back->step(form); !stepped) return Refused(spec.opset, stepped.reason());
  }
  spec.opset = opset;
  return absl::OkStatus();
}

// Removes attributes that the older schema lacks where they say what it means without them.
void DropDefaults(const onnx::OpSchema& newest, const onnx::OpSchema& older, NodeSpec& spec) {
  std::vector<std::string> dropped;
  for (const auto& [name, value] : spec.attrs) {
    const auto attribute = newest.attributes().find(name);
    if (older.attributes().contains(name) || attribute == newest.attributes().end()) continue;
    onnx::AttributeProto standard = attribute->second.default_value;
    standard.set_name(name);
    standard.clear_doc_string();
    if (ToProto(name, value).SerializeAsString() == standard.SerializeAsString()) {
      dropped.push_back(name);
    }
  }
  for (const std::string& name : dropped) spec.attrs.Remove(name);
}

// Before 11, axes counted from the first one alone.
void CountAxesFromFirst(const Node& node, NodeSpec& spec) {
  const bool makes_axes = node.op() == "Unsqueeze" || node.op() == "OneHot";
  const Value* ranked = makes_axes ? &node.output(0) : node.has_input(0) ? &node.input(0) : nullptr;
  if (ranked == nullptr || !ranked->type().ranked) return;
  const auto counted = [&](int64_t axis) { return axis < 0 ? axis + ranked->rank() : axis; };
  if (const auto* axis = spec.attrs.Get<int64_t>("axis")) spec.attrs.Set("axis", counted(*axis));
  if (spec.attrs.Get<std::vector<int64_t>>("axes") == nullptr) return;
  std::vector<int64_t> axes = spec.attrs.Ints("axes");
  std::transform(axes.begin(), axes.end(), axes.begin(), counted);
  spec.attrs.Set("axes", std::move(axes));
}

bool IsWhole(const Type& type) {
  if (type.kind == Type::Kind::kTensor) return type.dtype != DType::kUndefined;
  return type.element != nullptr && type.is_known() && IsWhole(*type.element);
}

Support Takes(const Parameter& parameter, const Value* value, std::string_view what) {
  if (value == nullptr || !IsWhole(value->type())) return Support::Yes();
  const onnx::DataType type = onnx::Utils::DataTypeUtils::ToType(ToProto(value->type()));
  if (parameter.GetTypes().contains(type)) return Support::Yes();
  return Support::No(absl::StrCat("does not take ", *type, " as ", what));
}

Support TakesAll(const std::vector<Parameter>& parameters, absl::Span<Value* const> values,
                 std::string_view what) {
  for (size_t i = 0; i < values.size() && !parameters.empty(); ++i) {
    const Parameter& parameter = parameters[std::min(i, parameters.size() - 1)];
    Support takes = Takes(parameter, values[i], absl::StrCat(what, " ", i));
    if (!takes) return takes;
  }
  return Support::Yes();
}

absl::Status CheckForm(const Node& node, const NodeSpec& spec, const onnx::OpSchema& schema) {
  const auto inputs = absl::MakeConstSpan(spec.inputs).first(spec.inputs.size() - spec.captures);
  const NodeSpec typed{
      .op = spec.op, .inputs = {inputs.begin(), inputs.end()}, .opset = spec.opset};
  for (const absl::Status& checked : {CheckNode(spec), CheckTypes(typed)}) {
    if (!checked.ok()) {
      return Refused(spec.opset, absl::StrCat("has another form of it: ", checked.message()));
    }
  }
  for (const Support& takes : {TakesAll(schema.inputs(), inputs, "input"),
                               TakesAll(schema.outputs(), node.outputs(), "output")}) {
    if (!takes) return Refused(spec.opset, takes.reason());
  }
  return absl::OkStatus();
}

NodeSpec SpecOf(const Node& node) {
  NodeSpec spec{.op = node.op(),
                .inputs = {node.inputs().begin(), node.inputs().end()},
                .attrs = node.attrs(),
                .outputs = {},
                .name = node.name(),
                .opset = node.opset(),
                .captures = node.captures()};
  for (const Value* v : node.outputs()) spec.outputs.push_back(v == nullptr ? "" : v->name());
  for (const auto& [name, body] : node.bodies()) spec.bodies[name] = std::make_unique<Graph>();
  return spec;
}

}  // namespace

absl::StatusOr<NodeSpec> Downgrade(const Node& node, int opset, Graph& constants) {
  OlderForm form{SpecOf(node), constants};
  if (opset >= node.opset()) return std::move(form.spec);
  const onnx::OpSchema* newest = FindSchema(node.op(), node.opset(), node.domain());
  if (newest == nullptr) return Refused(opset, "has no such op");
  RETURN_IF_ERROR(StepBack(form, opset));
  const onnx::OpSchema* older = FindSchema(form.spec.op, opset, node.domain());
  if (older == nullptr) return Refused(opset, "has no such op");
  DropDefaults(*newest, *older, form.spec);
  if (opset < 11) CountAxesFromFirst(node, form.spec);
  RETURN_IF_ERROR(CheckForm(node, form.spec, *older));
  return std::move(form.spec);
}

Support CheckIdentity(const Type& type, int opset) {
  const onnx::OpSchema& schema = *FindSchema("Identity", opset, "");
  if (!IsWhole(type)) return Support::Yes();
  const onnx::DataType data_type = onnx::Utils::DataTypeUtils::ToType(ToProto(type));
  if (schema.inputs()[0].GetTypes().contains(data_type)) return Support::Yes();
  return Support::No(absl::StrCat("opset ", opset, " has no Identity of ", *data_type));
}

}  // namespace onnx_cudnn
