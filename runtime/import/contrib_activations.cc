// Activations of com.microsoft.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "runtime/import/contrib_rules.h"
#include "runtime/import/names.h"

namespace onnx_cudnn {
namespace {

// An activation by the name that fused ops give it; its parameters are attributes of ONNX's op.
struct ActivationRow {
  std::string_view name, first, second;  // empty: no such parameter
};
constexpr ActivationRow kActivations[] = {
    {"Elu", "alpha", ""},
    {"HardSigmoid", "alpha", "beta"},
    {"HardSwish", "", ""},
    {"LeakyRelu", "alpha", ""},
    {"Relu", "", ""},
    {"Selu", "alpha", "gamma"},
    {"Sigmoid", "", ""},
    {"Softplus", "", ""},
    {"Softsign", "", ""},
    {"Tanh", "", ""},
    {"ThresholdedRelu", "alpha", ""},
};

}  // namespace

void GiveActivated(Expansion& x, Value& v, std::string_view activation,
                   const std::vector<float>& parameters) {
  if (activation.empty()) return x.Give(0, v);
  if (activation == "Clip" && parameters.size() == 2) {
    return x.Result(0, "Clip",
                    {&v, &x.Number(parameters[0], v.dtype()), &x.Number(parameters[1], v.dtype())});
  }
  const auto* row = std::find_if(std::begin(kActivations), std::end(kActivations),
                                 [&](const ActivationRow& r) { return r.name == activation; });
  const size_t count =
      row == std::end(kActivations) ? 0 : !row->first.empty() + !row->second.empty();
  if (row == std::end(kActivations) || parameters.size() < count) {
    return x.Refuse(absl::StrCat("attribute \"activation\" = ", Quoted(activation), " with ",
                                 parameters.size(), " parameters is not implemented"));
  }
  Attrs attrs;
  if (count > 0) attrs.Set(row->first, parameters[0]);
  if (count > 1) attrs.Set(row->second, parameters[1]);
  x.Result(0, std::string(activation), {&v}, std::move(attrs));
}

void ExpandGelu(Expansion& x) { x.Result(0, "Gelu", {&x.in(0)}); }

void ExpandBiasGelu(Expansion& x) { x.Result(0, "Gelu", {&x.Add(x.in(0), x.in(1))}); }

void ExpandFastGelu(Expansion& x) {
  Value& v = x.in(0);
  Value* bias = x.Optional(1);
  x.Result(0, "Gelu", {bias == nullptr ? &v : &x.Add(v, *bias)},
           {{"approximate", std::string("tanh")}});
}

void ExpandQuickGelu(Expansion& x) {
  const float alpha = x.Float("alpha", 1.702f);
  Value& v = x.in(0);
  x.Result(0, "Mul", {&v, &x.Op("Sigmoid", {&x.Scaled(v, alpha)})});
}

void ExpandBiasAdd(Expansion& x) {
  Value& v = x.Add(x.in(0), x.in(1));
  x.Result(0, "Add", {&v, &x.in(2)});
}

void ExpandBiasSplitGelu(Expansion& x) {
  Value& v = x.Add(x.in(0), x.in(1));
  const std::vector<Value*> halves =
      x.Outputs("Split", {&v}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}}, 2);
  x.Result(0, "Mul", {halves[0], &x.Op("Gelu", {halves[1]})});
}

}  // namespace onnx_cudnn
