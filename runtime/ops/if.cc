// If with branches of equal static types: the chosen body runs with its ops' references.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/body.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

Support CheckBody(const Node& node, const Graph& body, std::string_view name) {
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.outputs()[i] == nullptr) continue;
    const Type& given = body.outputs()[i].value->type();
    const Type& type = node.outputs()[i]->type();
    if (given == type && type.is_static()) continue;
    return Support::No(absl::StrCat("output ", i, " of ", name, " is ", ToString(given),
                                    ", of the node ", ToString(type),
                                    "; equal static shapes are needed"));
  }
  return CheckBodyOps(body, name);
}

Support CheckIf(const Node& node) {
  for (std::string_view name : {"then_branch", "else_branch"}) {
    const auto body = node.bodies().find(name);
    if (body == node.bodies().end()) return Support::No(absl::StrCat("there is no ", name));
    if (body->second->outputs().size() != node.outputs().size()) {
      return Support::No(absl::StrCat(name, " has ", body->second->outputs().size(),
                                      " outputs, the node ", node.outputs().size()));
    }
    if (Support support = CheckBody(node, *body->second, name); !support) return support;
  }
  return Support::Yes();
}

absl::Status ReferenceIf(const ReferenceArgs& args) {
  if (args.in[0].elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("cond is ", ToString(args.in[0].dims), ", expected one element"));
  }
  const bool cond = args.in[0].as<uint8_t>()[0] != 0;
  const Graph& body = *args.node.bodies().find(cond ? "then_branch" : "else_branch")->second;
  std::vector<HostTensor> captures;
  for (const TensorRef& in : args.in.last(args.node.captures())) {
    captures.push_back(Borrowed(in));
  }
  ASSIGN_OR_RETURN(const std::vector<HostTensor> results, Evaluate(body, captures));
  for (size_t i = 0; i < results.size(); ++i) {
    if (!args.has_out(i)) continue;
    CopyBytes(results[i].raw(), args.out[i].data, args.out[i].bytes(), args.threads);
  }
  return absl::OkStatus();
}

// The more expensive branch in calls, flops and bytes, since the condition is unknown.
Cost IfCost(const Node& node) {
  Cost cost;
  for (const auto& [name, body] : node.bodies()) {
    const Cost branch = CostOfBody(*body);
    cost.us = std::max(cost.us, branch.us);
    cost.flops = std::max(cost.flops, branch.flops);
    cost.blas_flops = std::max(cost.blas_flops, branch.blas_flops);
    cost.bytes = std::max(cost.bytes, branch.bytes);
    cost.calls = std::max(cost.calls, 1 + branch.calls);
  }
  for (const Value* v : node.outputs()) cost.bytes += v == nullptr ? 0 : 2 * v->bytes();
  return cost;
}

}  // namespace

OpDef IfOp() {
  return {.types = {DType::kBool}, .check = CheckIf, .reference = ReferenceIf, .cost = IfCost};
}

}  // namespace onnx_cudnn
