#include "runtime/ops/op_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/graph/inverse_type.h"
#include "runtime/graph/ml_types.h"
#include "runtime/ops/custom_op_def.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {

#define OP(name, ...) OpDef name##Op();
#define OP_OF(domain, name, ...) OpDef name##Op();
#define POINTWISE(name)
#include "runtime/ops/ops.inc"
#undef OP
#undef OP_OF
#undef POINTWISE

namespace {

OpDef Named(std::string_view domain, std::string_view type, std::vector<int> since, OpDef op) {
  op.domain = std::string(domain);
  op.type = std::string(type);
  op.since = std::move(since);
  return op;
}

const std::vector<OpDef>& Table() {
  static const auto& table = *new std::vector<OpDef>{
#define OP(name, ...) Named("", #name, {__VA_ARGS__}, name##Op()),
#define OP_OF(domain, name, ...) Named(domain, #name, {__VA_ARGS__}, name##Op()),
#define POINTWISE(name) PointwiseOp(#name),
#include "runtime/ops/ops.inc"
#undef OP
#undef OP_OF
#undef POINTWISE
  };
  return table;
}

// The Value whose dtype OpDef::types applies to.
const Value* TypedBy(const Node& node) {
  if (node.has_input(0)) return &node.input(0);
  return node.has_output(0) ? &node.output(0) : nullptr;
}

std::string Form(std::string_view domain, std::string_view op, int opset, const Value* typed) {
  std::string type = "nothing";
  if (typed != nullptr) {
    type = typed->type().is_tensor() ? NameOf(typed->dtype()) : ToString(typed->type());
  }
  return absl::StrCat(domain, domain.empty() ? "" : ".", op, " (opset ", opset, ") on ", type);
}

Support CheckValues(const Node& node) {
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    for (const Value* v : values) {
      if (v == nullptr) continue;
      if (!v->type().is_tensor())
        return Support::No(absl::StrCat(v->name(), " is ", ToString(v->type()), ", not a tensor"));
      if (!v->type().ranked || v->dtype() == DType::kUndefined) {
        return Support::No(absl::StrCat("the type of ", v->name(), " is not known"));
      }
    }
  }
  return Support::Yes();
}

Support Explain(const Node& node) {
  const OpDef* op = FindOp(node);
  if (op == nullptr) return Support::No("the op is not implemented");
  // Nodes of ONNX's own domain are upgraded at import; definitions of others handle every form.
  const int oldest = node.domain().empty() ? op->since.back() : op->since.front();
  if (node.opset() < oldest) {
    return Support::No(absl::StrCat("only its form since opset ", oldest, " is implemented"));
  }
  if (Support known = CheckValues(node); !known) return known;
  const Value* typed = TypedBy(node);
  if (typed != nullptr && !op->types.Has(typed->dtype()))
    return Support::No("the type is not implemented");
  return op->check == nullptr ? Support::Yes() : op->check(node);
}

}  // namespace

const OpDef* FindOp(std::string_view type, std::string_view domain) {
  const bool may_be_custom = !domain.empty() && domain != kOwnDomain;
  const CustomOp* custom = may_be_custom ? FindCustomOp(type, domain) : nullptr;
  if (custom != nullptr) return &DefOf(*custom);
  const std::vector<OpDef>& table = Table();
  auto op = std::lower_bound(table.begin(), table.end(), type,
                             [](const OpDef& o, std::string_view name) { return o.type < name; });
  return op != table.end() && op->type == type && op->domain == domain ? &*op : nullptr;
}
const OpDef* FindOp(const Node& node) { return FindOp(node.op(), node.domain()); }

const OpTraits& TraitsOf(const Node& node) {
  static constexpr OpTraits kNone;
  const OpDef* op = FindOp(node);
  return op == nullptr ? kNone : op->traits;
}

std::vector<const OpDef*> AllOps() {
  std::vector<const OpDef*> ops;
  for (const OpDef& op : Table()) ops.push_back(&op);
  return ops;
}

std::string FormOf(const Node& node) {
  const int opset = node.domain().empty() ? node.file_opset() : node.opset();
  return Form(node.domain(), node.op(), opset, TypedBy(node));
}

std::string FormOf(std::string_view domain, std::string_view op, int opset,
                   absl::Span<Value* const> inputs) {
  const auto typed =
      std::find_if(inputs.begin(), inputs.end(), [](const Value* v) { return v != nullptr; });
  return Form(domain, op, opset, typed == inputs.end() ? nullptr : *typed);
}

Support CheckOp(const Node& node) {
  Support support = Explain(node);
  return support ? support : Support::No(absl::StrCat(FormOf(node), ": ", support.reason()));
}

int64_t IoBytes(const Node& node) {
  int64_t bytes = 0;
  for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
    for (const Value* v : values) bytes += v == nullptr ? 0 : v->bytes();
  }
  return bytes;
}

Cost CostOf(const Node& node) {
  const OpDef* op = FindOp(node);
  if (op == nullptr || op->cost == nullptr) return {.bytes = IoBytes(node)};
  return op->cost(node);
}

}  // namespace onnx_cudnn
