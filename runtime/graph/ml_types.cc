#include "runtime/graph/ml_types.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace onnx_cudnn {
namespace {

using Strings = std::vector<std::string>;

Type TensorOf(DType dtype, std::vector<Dim> dims) {
  Type type{.kind = Type::Kind::kTensor, .dtype = dtype, .ranked = true};
  type.dims = std::move(dims);
  return type;
}

template <typename T>
int64_t CountOf(const Node& node, std::string_view attribute) {
  const auto* list = node.attrs().Get<std::vector<T>>(attribute);
  return list == nullptr ? 0 : static_cast<int64_t>(list->size());
}

// The number of rows of X, which is [N,C], or [C] for one row.
Dim RowsOf(const Type& x) { return x.dims.size() == 1 ? Dim{.value = 1} : x.dims[0]; }

// Inputs are matrices, whose columns are cut or padded to `inputdimensions`.
Type FeatureVectorizerType(const Node& node) {
  const std::vector<int64_t> widths = node.attrs().Ints("inputdimensions");
  int64_t columns = 0;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* x = node.inputs()[i];
    if (x == nullptr || !x->type().ranked || x->type().dims.empty()) return {};
    const int64_t width = i < widths.size() ? widths[i] : x->type().dims.back().value;
    columns = width < 0 || columns < 0 ? -1 : columns + width;
  }
  return TensorOf(DType::kF32, {RowsOf(node.input(0).type()), {.value = columns}});
}

// ONNX's function leaves open the row of a vector, and the column of a scalar index.
Type FeatureExtractorType(const Node& node) {
  const Type& x = node.input(0).type();
  if (!node.has_input(1) || !node.input(1).is_static()) return {};
  std::vector<Dim> dims = x.dims;
  if (dims.size() == 1) dims.insert(dims.begin(), Dim{.value = 1});
  dims.back() = {.value = node.input(1).elements()};
  return TensorOf(x.dtype, std::move(dims));
}

// The pairs of classes, unless the scores are one per class.
int64_t SvmScores(const Node& node, int64_t classes) {
  const std::vector<int64_t> counts = node.attrs().Ints("vectors_per_class");
  const bool has_vectors =
      std::any_of(counts.begin(), counts.end(), [](int64_t count) { return count > 0; });
  if (!has_vectors || CountOf<float>(node, "prob_a") > 0) return classes;
  return classes == 2 ? 2 : classes * (classes - 1) / 2;
}

Type ClassifierType(const Node& node, int index) {
  const int64_t strings = CountOf<std::string>(node, "classlabels_strings");
  const bool is_svm = node.op() == "SVMClassifier";
  const int64_t ints = CountOf<int64_t>(node, is_svm ? "classlabels_ints" : "classlabels_int64s");
  const Dim rows = RowsOf(node.input(0).type());
  if (index == 0) return TensorOf(strings > 0 ? DType::kString : DType::kI64, {rows});
  const int64_t classes = strings > 0 ? strings : ints;
  return TensorOf(DType::kF32, {rows, {.value = is_svm ? SvmScores(node, classes) : classes}});
}

int64_t TargetsOf(const Node& node) {
  const int64_t targets = node.attrs().Int("n_targets", 0);
  if (targets > 0) return targets;
  std::vector<int64_t> ids =
      node.attrs().Ints(node.op() == "TreeEnsemble" ? "leaf_targetids" : "target_ids");
  return ids.empty() ? 1 : *std::max_element(ids.begin(), ids.end()) + 1;
}

// Ops on maps give one row.
Type OfMapType(const Node& node) {
  const Type& map = node.input(0).type();
  if (node.op() == "DictVectorizer") {
    const int64_t keys = CountOf<std::string>(node, "string_vocabulary") +
                         CountOf<int64_t>(node, "int64_vocabulary");
    return TensorOf(map.element == nullptr ? DType::kUndefined : map.element->dtype,
                    {{.value = 1}, {.value = keys}});
  }
  if (node.op() != "CastMap") return {};
  const bool is_sparse = node.attrs().String("map_form", "DENSE") == "SPARSE";
  const std::string to = node.attrs().String("cast_to", "TO_FLOAT");
  const DType dtype = to == "TO_STRING"  ? DType::kString
                      : to == "TO_INT64" ? DType::kI64
                                         : DType::kF32;
  return TensorOf(dtype,
                  {{.value = 1}, {.value = is_sparse ? node.attrs().Int("max_map", 1) : -1}});
}

}  // namespace

Type MlOutputType(const Node& node, int index) {
  if (node.has_input(0) && node.input(0).type().kind == Type::Kind::kMap) return OfMapType(node);
  if (!node.has_input(0) || !node.input(0).type().is_tensor() || !node.input(0).type().ranked) {
    return {};
  }
  const std::string& op = node.op();
  const Type& x = node.input(0).type();
  if (op == "Imputer") return x;
  if (op == "Normalizer" || op == "Scaler") return TensorOf(DType::kF32, x.dims);
  if (op == "LabelEncoder" && node.attrs().Has("classes_strings")) {
    return TensorOf(x.dtype == DType::kString ? DType::kI64 : DType::kString, x.dims);
  }
  if (x.dims.empty()) return {};
  if (op == "ArrayFeatureExtractor") return FeatureExtractorType(node);
  if (op == "FeatureVectorizer") return FeatureVectorizerType(node);
  if (op == "SVMClassifier" || op == "TreeEnsembleClassifier") return ClassifierType(node, index);
  if (op == "SVMRegressor") return TensorOf(DType::kF32, {RowsOf(x), {.value = 1}});
  if (op == "LinearRegressor") {
    return TensorOf(DType::kF32, {RowsOf(x), {.value = node.attrs().Int("targets", 1)}});
  }
  if (op == "TreeEnsembleRegressor")
    return TensorOf(DType::kF32, {RowsOf(x), {.value = TargetsOf(node)}});
  if (op == "TreeEnsemble") return TensorOf(x.dtype, {RowsOf(x), {.value = TargetsOf(node)}});
  return {};
}

}  // namespace onnx_cudnn
