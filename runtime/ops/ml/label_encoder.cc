// LabelEncoder and CategoryMapper: elements to other elements.
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/ml/lookup.h"
#include "runtime/ops/ml/rows.h"
#include "runtime/ops/scalar_us.h"

namespace onnx_cudnn {
namespace {

using Strings = std::vector<std::string>;

constexpr DTypeSet kLabels = {DType::kString, DType::kI64, DType::kF32,
                              DType::kI32,    DType::kI16, DType::kF64};

// keys[i] becomes values[i], everything else `otherwise`.
struct Mapping {
  HostTensor keys, values, otherwise;
  Lookup::Repeated repeated = Lookup::Repeated::kLast;
};

HostTensor TextOf(const Strings& strings) {
  return HostTensor::Strings({static_cast<int64_t>(strings.size())}, strings);
}

// The list `prefix`_tensor, _strings, _int64s or _floats; undefined if there is none.
HostTensor ListOf(const Attrs& attrs, std::string_view prefix) {
  const auto name = [&](std::string_view kind) { return absl::StrCat(prefix, "_", kind); };
  if (const auto* tensor = attrs.Get<HostTensor>(name("tensor"))) return *tensor;
  if (const auto* strings = attrs.Get<Strings>(name("strings"))) return TextOf(*strings);
  if (const auto* ints = attrs.Get<std::vector<int64_t>>(name("int64s")))
    return HostTensor::Ints(*ints);
  const auto* floats = attrs.Get<std::vector<float>>(name("floats"));
  if (floats == nullptr) return {};
  return HostTensor::Of<float>(DType::kF32, {std::ssize(*floats)}, *floats);
}

HostTensor DefaultOf(const Attrs& attrs, DType dtype) {
  const auto* tensor = attrs.Get<HostTensor>("default_tensor");
  if (tensor != nullptr && tensor->dtype() == dtype && tensor->elements() == 1) return *tensor;
  if (dtype == DType::kString) return TextOf({attrs.String("default_string", "_Unused")});
  HostTensor value = HostTensor::Allocate(dtype, {1});
  VisitElementType(dtype, [&](auto tag) {
    using E = decltype(tag);
    value.mutable_data<E>()[0] = std::is_integral_v<E>
                                     ? Narrow<E>(attrs.Int("default_int64", -1))
                                     : Narrow<E>(attrs.Float("default_float", -0.0F));
  });
  return value;
}

// Strings to integers or back, depending on the input.
Mapping BothWays(HostTensor strings, HostTensor ints, const Node& node) {
  Mapping mapping{.keys = std::move(strings), .values = std::move(ints), .otherwise = {}};
  if (node.input(0).dtype() != DType::kString) std::swap(mapping.keys, mapping.values);
  return mapping;
}

Mapping CategoriesOf(const Node& node) {
  const auto* strings = node.attrs().Get<Strings>("cats_strings");
  return BothWays(TextOf(strings == nullptr ? Strings() : *strings),
                  HostTensor::Ints(IntsOf(node.attrs(), "cats_int64s")), node);
}

Mapping ClassesOf(const Node& node, const Strings& classes) {
  std::vector<int64_t> indices(classes.size());
  std::iota(indices.begin(), indices.end(), 0);
  return BothWays(TextOf(classes), HostTensor::Ints(indices), node);
}

// The forms of LabelEncoder since opset 1, 2 and 4. Of repeated keys the last one counts since 4;
// before, the specification does not say, and the first one counts as in onnxruntime.
absl::StatusOr<Mapping> MappingOf(const Node& node) {
  Mapping mapping;
  if (node.op() == "CategoryMapper") {
    mapping = CategoriesOf(node);
  } else if (const auto* classes = node.attrs().Get<Strings>("classes_strings")) {
    mapping = ClassesOf(node, *classes);
  } else {
    mapping = {.keys = ListOf(node.attrs(), "keys"),
               .values = ListOf(node.attrs(), "values"),
               .otherwise = {}};
    if (node.opset() < 4) mapping.repeated = Lookup::Repeated::kFirst;
  }
  const auto [keys, values] = std::pair(mapping.keys.dtype(), mapping.values.dtype());
  if (!kLabels.Has(values) || keys != node.input(0).dtype()) {
    return absl::InvalidArgumentError(absl::StrCat("it maps ", NameOf(keys), " to ", NameOf(values),
                                                   ", X is ", NameOf(node.input(0).dtype())));
  }
  if (mapping.keys.elements() != mapping.values.elements()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", mapping.keys.elements(), " keys for ", mapping.values.elements(), " values"));
  }
  mapping.otherwise = DefaultOf(node.attrs(), values);
  return mapping;
}

absl::StatusOr<HostTensor> Mapped(const Node& node, const HostTensor& x) {
  ASSIGN_OR_RETURN(const Mapping mapping, MappingOf(node));
  const Lookup lookup(mapping.keys, mapping.repeated);
  return ElementsAt(mapping.values, mapping.otherwise, lookup.IndicesOf(x), x.dims());
}

absl::Status Reference(const ReferenceArgs& args) {
  const TensorRef& x = args.in[0];
  RETURN_IF_ERROR(ExpectDims("Y", args.out[0].dims, x.dims));
  const HostTensor borrowed =
      HostTensor::Borrow(x.dtype, Dims(x.dims.begin(), x.dims.end()), x.data, nullptr);
  ASSIGN_OR_RETURN(const HostTensor y, Mapped(args.node, borrowed));
  if (y.dtype() != args.out[0].dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("its values are ", NameOf(y.dtype()), ", Y is ", NameOf(args.out[0].dtype)));
  }
  std::memcpy(args.out[0].data, y.raw(), y.bytes());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> EvaluateMapping(const Node& node) {
  ASSIGN_OR_RETURN(HostTensor y, Mapped(node, node.input(0).constant()));
  return std::vector<HostTensor>{std::move(y)};
}

Support Check(const Node& node) {
  const absl::Status status = MappingOf(node).status();
  return status.ok() ? Support::Yes() : Support::No(std::string(status.message()));
}

// A search per element, and per key to make the table.
Cost MappingCost(const Node& node) {
  const absl::StatusOr<Mapping> mapping = MappingOf(node);
  const int64_t keys = mapping.ok() ? mapping->keys.elements() : 0;
  return {.us = ScalarUs(4 * (node.input(0).elements() + keys)), .bytes = IoBytes(node)};
}

}  // namespace

OpDef CategoryMapperOp() {
  return {.types = {DType::kString, DType::kI64},
          .check = Check,
          .evaluate = EvaluateMapping,
          .cost = MappingCost};
}

OpDef LabelEncoderOp() {
  OpDef op = CategoryMapperOp();
  op.types = kLabels;
  op.reference = Reference;
  return op;
}

}  // namespace onnx_cudnn
