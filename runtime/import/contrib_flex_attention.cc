// FlexAttention: attention whose scores and probabilities a body may change.
#include <cmath>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/node_spec.h"
#include "runtime/graph/print.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

// The result of `body` for `argument`; its captures are the node's last inputs.
Value& Applied(Expansion& x, const Graph& body, Value& argument) {
  const int captures = x.spec().captures;
  const int formals = static_cast<int>(body.inputs().size()) - captures;
  if (formals != 1 || body.outputs().size() != 1) {
    x.FailInvalid(absl::StrCat("a body has ", formals, " inputs and ", body.outputs().size(),
                               " outputs, expected 1 and 1"));
    return argument;
  }
  absl::flat_hash_map<const Value*, Value*> values = {{body.inputs()[0], &argument}};
  for (int i = 0; i < captures; ++i) {
    values[body.inputs()[1 + i]] = &x.in(x.inputs() - captures + i);
  }
  const auto copy_of = [&](const Value* v) -> Value* {
    if (v == nullptr) return nullptr;
    auto [at, is_new] = values.try_emplace(v, nullptr);
    if (is_new) at->second = &x.Constant(v->constant());
    return at->second;
  };
  for (const Node* node : body.TopologicalOrder()) {
    NodeSpec spec = SpecLike(*node);
    for (const Value* input : node->inputs()) spec.inputs.push_back(copy_of(input));
    for (const Value* output : node->outputs()) spec.outputs.push_back(output ? "*" : "");
    for (const auto& [name, inner] : node->bodies()) {
      spec.bodies.emplace(name, std::make_unique<Graph>(inner->Clone()));
    }
    std::vector<Value*> outputs(node->outputs().size(), &argument);
    x.Append(std::move(spec), outputs);
    for (size_t i = 0; i < node->outputs().size(); ++i) values[node->outputs()[i]] = outputs[i];
  }
  return *copy_of(body.outputs()[0].value);
}

Value& Modified(Expansion& x, std::string_view name, Value& v) {
  const auto body = x.spec().bodies.find(name);
  return body == x.spec().bodies.end() ? v : Applied(x, *body->second, v);
}

// `v` with each head repeated for the group of query heads that share it.
Value& Repeated(Expansion& x, Value& v, const Value& q) {
  if (Expansion::SameExtent(v, 1, q, 1)) return v;
  const int64_t heads = x.Extent(v, 1), all = x.Extent(q, 1), channels = x.Extent(v, 3);
  if (!x.ok()) return v;
  if (heads == 0 || all % heads != 0) {
    x.FailInvalid(
        absl::StrCat("q has ", all, " heads, which ", heads, " heads of k and v do not divide"));
    return v;
  }
  Value& shape = x.Integers({1, 1, all / heads, 1, 1});
  return x.Reshape(x.Op("Expand", {&x.Unsqueeze(v, {2}), &shape}), {0, all, -1, channels});
}

DType Precision(Expansion& x, DType dtype) {
  const int64_t to =
      x.Int("softmax_precision", static_cast<int64_t>(dtype == DType::kF64 ? dtype : DType::kF32));
  for (const DType precision : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    if (to == static_cast<int64_t>(precision)) return precision;
  }
  x.FailInvalid(absl::StrCat("attribute \"softmax_precision\" = ", to, " is not a float type"));
  return dtype;
}

}  // namespace

void ExpandFlexAttention(Expansion& x) {
  Value &q = x.in(0), &k = x.in(1), &v = x.in(2);
  for (const Value* input : {&q, &k, &v}) {
    if (x.Rank(*input) != 4)
      x.FailInvalid(absl::StrCat(ToString(input->type()), ", expected rank 4"));
  }
  if (!x.ok()) return;
  const DType precision = Precision(x, q.dtype());
  const bool has_scale = x.HasAttr("scale");
  double scale = x.Float("scale", 1);
  if (!has_scale) scale = 1 / std::sqrt(static_cast<double>(x.Extent(q, 3)));
  Value& keys = x.Transpose(Repeated(x, k, q), {0, 1, 3, 2});
  Value& scores = x.Scaled(x.Cast(x.MatMul(q, keys), precision), scale);
  Value& masked = Modified(x, "score_mod", scores);
  Value& probabilities =
      Modified(x, "prob_mod", x.Op("Softmax", {&masked}, {{"axis", int64_t{-1}}}));
  Value& values = x.Cast(Repeated(x, v, q), precision);
  if (precision == q.dtype()) return x.Result(0, "MatMul", {&probabilities, &values});
  Value& y = x.MatMul(probabilities, values);
  x.Result(0, "Cast", {&y}, {{"to", static_cast<int64_t>(q.dtype())}});
}

}  // namespace onnx_cudnn
