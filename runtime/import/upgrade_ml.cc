// The domain ai.onnx.ml.
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/import/upgrade.h"
#include "runtime/import/upgrade_form.h"

namespace onnx_cudnn {
namespace {

using Strings = std::vector<std::string>;

// The attribute of integer labels; empty: not a classifier.
std::string_view IntLabels(std::string_view op) {
  if (op == "TreeEnsembleClassifier") return "classlabels_int64s";
  return op == "LinearClassifier" || op == "SVMClassifier" ? "classlabels_ints" : "";
}

// ONNX's inference counts classes by the intercepts. One row of coefficients separates two classes.
void StateIntercepts(NodeSpec& spec) {
  const auto* coefficients = spec.attrs.Get<std::vector<float>>("coefficients");
  if (spec.op != "LinearClassifier" || spec.attrs.Has("intercepts") || coefficients == nullptr)
    return;
  const auto* strings = spec.attrs.Get<Strings>("classlabels_strings");
  size_t rows = strings != nullptr && !strings->empty()
                    ? strings->size()
                    : spec.attrs.Ints("classlabels_ints").size();
  const Type& x = spec.inputs[0]->type();
  const bool is_known = x.is_tensor() && x.ranked && !x.dims.empty();
  if (rows == 2 && is_known && std::cmp_equal(x.dims.back().value, coefficients->size())) rows = 1;
  spec.attrs.Set("intercepts", std::vector<float>(rows, 0));
}

NodeSpec LabelsFrom(Value& indices, Strings labels, std::string output, const NodeSpec& of) {
  NodeSpec spec{.op = "LabelEncoder",
                .inputs = {&indices},
                .outputs = {std::move(output)},
                .domain = of.domain,
                .name = of.name,
                .opset = of.opset};
  if (of.opset == 1) {
    spec.attrs.Set("classes_strings", std::move(labels));
    return spec;
  }
  std::vector<int64_t> keys(labels.size());
  std::iota(keys.begin(), keys.end(), 0);
  spec.attrs.Set("keys_int64s", std::move(keys));
  spec.attrs.Set("values_strings", std::move(labels));
  return spec;
}

}  // namespace

absl::StatusOr<std::vector<Value*>> AppendMlNode(Graph& graph, ShapeInference& inference,
                                                 NodeSpec spec) {
  StateIntercepts(spec);
  const std::string_view int_labels = IntLabels(spec.op);
  const auto* strings = spec.attrs.Get<Strings>("classlabels_strings");
  if (int_labels.empty() || strings == nullptr || strings->empty())
    return AppendCustomNode(graph, inference, std::move(spec));
  Strings labels = *strings;
  std::vector<int64_t> indices(labels.size());
  std::iota(indices.begin(), indices.end(), 0);
  spec.attrs.Remove("classlabels_strings");
  spec.attrs.Set(int_labels, std::move(indices));
  std::string output = std::exchange(spec.outputs[0], std::string(1, '*'));
  NodeSpec naming{.op = spec.op, .domain = spec.domain, .name = spec.name, .opset = spec.opset};
  ASSIGN_OR_RETURN(std::vector<Value*> values, AppendCustomNode(graph, inference, std::move(spec)));
  NodeSpec encoder = LabelsFrom(*values[0], std::move(labels), std::move(output), naming);
  ASSIGN_OR_RETURN(std::vector<Value*> named,
                   AppendCustomNode(graph, inference, std::move(encoder)));
  values[0] = named[0];
  return values;
}

}  // namespace onnx_cudnn
