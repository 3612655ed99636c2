// ArrayFeatureExtractor and FeatureVectorizer.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/ml_types.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/ml/rows.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/scalar_us.h"

namespace onnx_cudnn {
namespace {

// The element of X that each output element is: `indices` into the last axis, for each row.
absl::StatusOr<std::vector<int64_t>> Sources(absl::Span<const int64_t> dims,
                                             absl::Span<const int64_t> indices) {
  const int64_t columns = dims.back();
  for (const int64_t index : indices) {
    if (index >= 0 && index < columns) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("index ", index, " is out of range, X has ", columns, " columns"));
  }
  std::vector<int64_t> sources;
  const int64_t rows = columns == 0 ? 0 : ElementsOf(dims) / columns;
  for (int64_t r = 0; r < rows; ++r) {
    for (const int64_t index : indices) sources.push_back(r * columns + index);
  }
  return sources;
}

absl::Status ReferenceExtractor(const ReferenceArgs& args) {
  const TensorRef& x = args.in[0];
  ASSIGN_OR_RETURN(const std::vector<int64_t> sources, Sources(x.dims, args.in[1].as<int64_t>()));
  if (std::ssize(sources) != args.out[0].elements()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Z has ", args.out[0].elements(), " elements, expected ", sources.size()));
  }
  const int bytes = ElementBytes(x.dtype);
  char* to = static_cast<char*>(args.out[0].data);
  for (const int64_t source : sources) {
    std::memcpy(to, static_cast<const char*>(x.data) + source * bytes, bytes);
    to += bytes;
  }
  return absl::OkStatus();
}

// Of strings.
absl::StatusOr<std::vector<HostTensor>> EvaluateExtractor(const Node& node) {
  const HostTensor &x = node.input(0).constant(), &indices = node.input(1).constant();
  ASSIGN_OR_RETURN(const std::vector<int64_t> sources, Sources(x.dims(), indices.data<int64_t>()));
  Dims dims = x.dims();
  if (dims.size() == 1) dims.insert(dims.begin(), 1);
  dims.back() = indices.elements();
  if (x.dtype() == DType::kString) {
    std::vector<std::string> strings;
    for (const int64_t source : sources) strings.push_back(x.strings()[source]);
    return std::vector<HostTensor>{HostTensor::Strings(std::move(dims), std::move(strings))};
  }
  HostTensor z = HostTensor::Allocate(x.dtype(), std::move(dims));
  const TensorRef in[] = {{x.dtype(), x.dims(), x.raw()},
                          {indices.dtype(), indices.dims(), indices.raw()}};
  const MutableTensorRef out[] = {{z.dtype(), z.dims(), z.mutable_raw()}};
  RETURN_IF_ERROR(ReferenceExtractor({node, in, out, nullptr, ThreadPool::Default()}));
  return std::vector<HostTensor>{std::move(z)};
}

Support CheckExtractor(const Node& node) {
  return node.input(0).rank() > 0 ? Support::Yes() : Support::No("X is a scalar");
}

Cost ExtractorCost(const Node& node) {
  return {.us = ScalarUs(node.output(0).elements()), .bytes = IoBytes(node)};
}

Support CheckVectorizer(const Node& node) {
  const absl::Span<const int64_t> widths = IntsOf(node.attrs(), "inputdimensions");
  if (!widths.empty() && widths.size() != node.inputs().size()) {
    return Support::No(absl::StrCat("inputdimensions has ", widths.size(), " numbers for ",
                                    node.inputs().size(), " inputs"));
  }
  for (const Value* x : node.inputs()) {
    if (x == nullptr || x->rank() < 1 || x->rank() > 2)
      return Support::No("an input is absent, or not of rank 1 or 2");
    if (!kMlNumbers.Has(x->dtype())) return Support::No("the type is not implemented");
    if (!x->is_static() || !node.input(0).is_static()) continue;
    if (RowsOf(x->dims()).rows != RowsOf(node.input(0).dims()).rows)
      return Support::No("inputs differ in their rows");
  }
  return Support::Yes();
}

// Columns are cut, or padded with 0, to the width that `inputdimensions` states.
absl::Status ReferenceVectorizer(const ReferenceArgs& args) {
  const absl::Span<const int64_t> widths = IntsOf(args.node.attrs(), "inputdimensions");
  const absl::Span<float> out = args.out[0].as<float>();
  const int64_t all = args.out[0].dims.back();
  std::fill(out.begin(), out.end(), 0.0F);
  int64_t first = 0;
  for (size_t i = 0; i < args.in.size(); ++i) {
    const MlRows x = RowsOf(args.in[i].dims);
    const int64_t width = widths.empty() ? x.columns : widths[i];
    if (width < 0 || width > all - first)
      return absl::InvalidArgumentError("inputdimensions do not add up to Y's columns");
    std::vector<float> storage;
    const absl::Span<const float> numbers = NumbersAs<float>(args.in[i], storage);
    for (int64_t r = 0; r < x.rows; ++r) {
      const auto row = numbers.subspan(r * x.columns, std::min(width, x.columns));
      std::copy(row.begin(), row.end(), out.begin() + r * all + first);
    }
    first += width;
  }
  return first == all ? absl::OkStatus()
                      : absl::InvalidArgumentError("inputdimensions do not add up to Y's columns");
}

}  // namespace

OpDef ArrayFeatureExtractorOp() {
  OpDef op = MlOp(CheckExtractor, ReferenceExtractor, ExtractorCost);
  op.types = kMlNumbers | DTypeSet{DType::kString};
  op.evaluate = EvaluateExtractor;
  return op;
}

OpDef FeatureVectorizerOp() {
  return MlOp(CheckVectorizer, ReferenceVectorizer, [](const Node& node) -> Cost {
    return {.us = ScalarUs(node.output(0).elements()), .bytes = IoBytes(node)};
  });
}

}  // namespace onnx_cudnn
