// Binarizer, Imputer, Normalizer and Scaler.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/ml_types.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/ml/rows.h"
#include "runtime/ops/scalar_us.h"

namespace onnx_cudnn {
namespace {

int64_t FeaturesOf(absl::Span<const int64_t> dims) { return dims.empty() ? 1 : dims.back(); }

// One number for all features, or one for each.
Support CheckFeatures(const Node& node, std::string_view attribute, int64_t count) {
  if (count == 1 || !node.input(0).is_static()) return Support::Yes();
  const int64_t features = FeaturesOf(node.input(0).dims());
  if (count == features) return Support::Yes();
  return Support::No(absl::StrCat(attribute, " has ", count, " numbers, expected 1 or ", features));
}

Cost ElementsCost(const Node& node) {
  return {.us = ScalarUs(node.input(0).elements()), .bytes = IoBytes(node)};
}

absl::Status ReferenceBinarizer(const ReferenceArgs& args) {
  const TensorRef& x = args.in[0];
  RETURN_IF_ERROR(ExpectDims("Y", args.out[0].dims, x.dims));
  const double threshold = args.node.attrs().Float("threshold", 0);
  return DispatchNumber(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    std::transform(x.as<T>().begin(), x.as<T>().end(), args.out[0].as<T>().begin(),
                   [&](T e) { return static_cast<T>(static_cast<double>(e) > threshold ? 1 : 0); });
    return absl::OkStatus();
  });
}

Support CheckImputer(const Node& node) {
  const bool is_float = kFloatTypes.Has(node.input(0).dtype());
  const auto count = is_float ? std::ssize(FloatsOf(node.attrs(), "imputed_value_floats"))
                              : std::ssize(IntsOf(node.attrs(), "imputed_value_int64s"));
  return CheckFeatures(node, is_float ? "imputed_value_floats" : "imputed_value_int64s", count);
}

// NaN replaces NaN.
template <typename T, typename V>
void Impute(const ReferenceArgs& args, absl::Span<const V> values, V replaced) {
  const absl::Span<const T> x = args.in[0].as<T>();
  const int64_t features = FeaturesOf(args.in[0].dims);
  for (size_t i = 0; i < x.size(); ++i) {
    bool is_replaced = static_cast<V>(x[i]) == replaced;
    if constexpr (std::is_floating_point_v<T>)
      is_replaced = is_replaced || (std::isnan(replaced) && std::isnan(x[i]));
    const V value = values[values.size() == 1 ? 0 : i % features];
    args.out[0].as<T>()[i] = is_replaced ? static_cast<T>(value) : x[i];
  }
}

absl::Status ReferenceImputer(const ReferenceArgs& args) {
  RETURN_IF_ERROR(ExpectDims("Y", args.out[0].dims, args.in[0].dims));
  const Attrs& attrs = args.node.attrs();
  return DispatchNumber(args.in[0].dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T>) {
      Impute<T, float>(args, FloatsOf(attrs, "imputed_value_floats"),
                       attrs.Float("replaced_value_float", 0));
    } else {
      Impute<T, int64_t>(args, IntsOf(attrs, "imputed_value_int64s"),
                         attrs.Int("replaced_value_int64", 0));
    }
    return absl::OkStatus();
  });
}

Support CheckNormalizer(const Node& node) {
  const std::string norm = node.attrs().String("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    return Support::No(absl::StrCat("norm \"", norm, "\" is unknown"));
  return CheckRows(node);
}

// Max: the largest element, not the largest magnitude. L1 sums magnitudes, as other runtimes do.
double DivisorOf(std::string_view norm, absl::Span<const double> row) {
  double sum = 0;
  if (norm == "MAX") return row.empty() ? 0 : *std::max_element(row.begin(), row.end());
  for (const double x : row) sum += norm == "L1" ? std::abs(x) : x * x;
  return norm == "L1" ? sum : std::sqrt(sum);
}

absl::Status ReferenceNormalizer(const ReferenceArgs& args) {
  RETURN_IF_ERROR(ExpectDims("Y", args.out[0].dims, args.in[0].dims));
  const MlRows x = RowsOf(args.in[0].dims);
  const std::string norm = args.node.attrs().String("norm", "MAX");
  std::vector<double> storage;
  const absl::Span<const double> numbers = NumbersAs<double>(args.in[0], storage);
  for (int64_t r = 0; r < x.rows; ++r) {
    const absl::Span<const double> row = numbers.subspan(r * x.columns, x.columns);
    const double divisor = DivisorOf(norm, row);
    std::transform(row.begin(), row.end(), args.out[0].as<float>().begin() + r * x.columns,
                   [&](double e) { return static_cast<float>(divisor == 0 ? e : e / divisor); });
  }
  return absl::OkStatus();
}

// An absent list is 0 or 1 for all features.
Support CheckScaler(const Node& node) {
  for (const char* attribute : {"offset", "scale"}) {
    const auto count = std::ssize(FloatsOf(node.attrs(), attribute));
    if (count == 0) continue;
    if (Support fits = CheckFeatures(node, attribute, count); !fits) return fits;
  }
  return Support::Yes();
}

absl::Status ReferenceScaler(const ReferenceArgs& args) {
  RETURN_IF_ERROR(ExpectDims("Y", args.out[0].dims, args.in[0].dims));
  const auto offset = FloatsOf(args.node.attrs(), "offset");
  const auto scale = FloatsOf(args.node.attrs(), "scale");
  const auto at = [](absl::Span<const float> list, int64_t feature, float otherwise) {
    return list.empty() ? otherwise : list[list.size() == 1 ? 0 : feature];
  };
  std::vector<double> storage;
  const absl::Span<const double> x = NumbersAs<double>(args.in[0], storage);
  const int64_t features = FeaturesOf(args.in[0].dims);
  for (int64_t i = 0; i < std::ssize(x); ++i) {
    const int64_t f = i % features;
    args.out[0].as<float>()[i] = static_cast<float>((x[i] - at(offset, f, 0)) * at(scale, f, 1));
  }
  return absl::OkStatus();
}

}  // namespace

OpDef BinarizerOp() { return MlOp(nullptr, ReferenceBinarizer, ElementsCost); }
OpDef ImputerOp() { return MlOp(CheckImputer, ReferenceImputer, ElementsCost); }
OpDef NormalizerOp() { return MlOp(CheckNormalizer, ReferenceNormalizer, ElementsCost); }
OpDef ScalerOp() { return MlOp(CheckScaler, ReferenceScaler, ElementsCost); }

}  // namespace onnx_cudnn
