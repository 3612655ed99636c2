#include "runtime/ops/ml/rows.h"

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

template <typename T>
absl::Span<const T> ListOf(const Attrs& attrs, std::string_view name) {
  const auto* list = attrs.Get<std::vector<T>>(name);
  return list == nullptr ? absl::Span<const T>() : absl::MakeConstSpan(*list);
}

}  // namespace

Support CheckRows(const Node& node) {
  const int rank = node.input(0).rank();
  if (rank == 1 || rank == 2) return Support::Yes();
  return Support::No(absl::StrCat("X has rank ", rank, ", expected 1 or 2"));
}

OpDef MlOp(Support (*check)(const Node&), absl::Status (*reference)(const ReferenceArgs&),
           Cost (*cost)(const Node&)) {
  return {.types = kMlNumbers, .check = check, .reference = reference, .cost = cost};
}

std::vector<double> NumbersOf(const Attrs& attrs, std::string_view name) {
  const HostTensor* tensor = attrs.Get<HostTensor>(name);
  if (tensor == nullptr) tensor = attrs.Get<HostTensor>(absl::StrCat(name, "_as_tensor"));
  if (tensor == nullptr) {
    const absl::Span<const float> floats = FloatsOf(attrs, name);
    return {floats.begin(), floats.end()};
  }
  if (!kFixedSizeTypes.Has(tensor->dtype())) return {};
  std::vector<double> storage;
  const absl::Span<const double> numbers =
      NumbersAs<double>({tensor->dtype(), tensor->dims(), tensor->raw()}, storage);
  return {numbers.begin(), numbers.end()};
}

absl::Span<const float> FloatsOf(const Attrs& attrs, std::string_view name) {
  return ListOf<float>(attrs, name);
}

absl::Span<const int64_t> IntsOf(const Attrs& attrs, std::string_view name) {
  return ListOf<int64_t>(attrs, name);
}

}  // namespace onnx_cudnn
