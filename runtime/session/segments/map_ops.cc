#include "runtime/session/segments/map_ops.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/strings.h"
#include "runtime/session/segments/host_node.h"

namespace onnx_cudnn {
namespace {

using Strings = std::vector<std::string>;

struct MapParts {
  HostTensor keys;    // a vector
  HostTensor values;  // parallel to the keys
};

// The elements of a map as a vector.
//   dtype  of the elements
absl::StatusOr<HostTensor> ValuesOf(const std::vector<ModelValue>& elements, DType dtype,
                                    const ValueMemory& memory) {
  if (elements.empty()) {
    if (dtype == DType::kString) return HostTensor::Strings({0}, {});
    return HostTensor::Allocate(dtype, {0});
  }
  std::vector<Tensor> tensors;
  for (const ModelValue& element : elements) {
    if (element.kind() != ValueKind::kTensor || element.tensor().elements() != 1) {
      return absl::InvalidArgumentError("expected a map of scalars");
    }
    tensors.push_back(TensorMaker::Reshaped(element.tensor(), {}));
  }
  ASSIGN_OR_RETURN(const Tensor stacked, memory.Stack(tensors));
  return memory.ToHost(stacked);
}

absl::StatusOr<MapParts> MapAt(const NodeOperands& operands, size_t i, const ValueMemory& memory) {
  if (!operands.has(i) || operands[i].kind() != ValueKind::kMap) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, ": expected a map"));
  }
  const Type& type = operands.node.input(static_cast<int>(i)).type();
  const DType dtype = type.element == nullptr ? DType::kUndefined : type.element->dtype;
  MapParts parts;
  ASSIGN_OR_RETURN(parts.keys, memory.ToHost(operands[i].tensor()));
  ASSIGN_OR_RETURN(parts.values, ValuesOf(operands[i].elements(), dtype, memory));
  return parts;
}

// [1,n]: element i is values[from[i]], or 0 or an empty string where from[i] < 0.
absl::StatusOr<HostTensor> Row(const HostTensor& values, absl::Span<const int64_t> from) {
  const Dims dims = {1, static_cast<int64_t>(from.size())};
  if (values.dtype() == DType::kString) {
    Strings row(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] >= 0) row[i] = values.strings()[from[i]];
    }
    HostTensor strings = HostTensor::Strings(dims, std::move(row));
    if (BytesOfStrings(strings) > kMostStringBytes) return TooManyStrings();
    return strings;
  }
  HostTensor row = HostTensor::Allocate(values.dtype(), dims);
  const int64_t bytes = BytesOf(values.dtype(), 1);
  auto* to = static_cast<std::byte*>(row.mutable_raw());
  std::fill(to, to + row.bytes(), std::byte{0});
  const auto* elements = static_cast<const std::byte*>(values.raw());
  for (size_t i = 0; i < from.size(); ++i, to += bytes) {
    if (from[i] >= 0) std::memcpy(to, elements + from[i] * bytes, bytes);
  }
  return row;
}

// For each key of the vocabulary its position among `keys`; -1: it is not there.
template <typename Key>
std::vector<int64_t> Lookup(const std::vector<Key>& vocabulary, absl::Span<const Key> keys) {
  absl::flat_hash_map<Key, int64_t> positions;
  for (size_t i = 0; i < keys.size(); ++i) positions[keys[i]] = static_cast<int64_t>(i);
  std::vector<int64_t> from;
  for (const Key& key : vocabulary) {
    const auto position = positions.find(key);
    from.push_back(position == positions.end() ? -1 : position->second);
  }
  return from;
}

absl::StatusOr<std::vector<int64_t>> SparsePositions(const Node& node,
                                                     absl::Span<const int64_t> keys) {
  const int64_t length = node.attrs().Int("max_map", 1);
  if (length < 0) return absl::InvalidArgumentError(absl::StrCat("max_map is ", length));
  RETURN_IF_ERROR(CheckedBytes(DType::kC128, {length}).status());
  std::vector<int64_t> from(length, -1);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] < 0 || keys[i] >= length) {
      return absl::InvalidArgumentError(
          absl::StrCat("the key ", keys[i], " is not in [0, ", length, ")"));
    }
    from[keys[i]] = static_cast<int64_t>(i);
  }
  return from;
}

std::vector<int64_t> DensePositions(absl::Span<const int64_t> keys) {
  std::vector<int64_t> from(keys.size());
  std::iota(from.begin(), from.end(), 0);
  std::stable_sort(from.begin(), from.end(),
                   [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
  return from;
}

absl::StatusOr<DType> CastTo(const Node& node) {
  const std::string to = node.attrs().String("cast_to", "TO_FLOAT");
  if (to == "TO_FLOAT") return DType::kF32;
  if (to == "TO_INT64") return DType::kI64;
  if (to == "TO_STRING") return DType::kString;
  return absl::InvalidArgumentError(
      absl::StrCat("cast_to: expected TO_FLOAT, TO_INT64 or TO_STRING, found ", to));
}

// The keys of a ZipMap's maps.
absl::StatusOr<HostTensor> LabelsOf(const Node& node) {
  const auto* strings = node.attrs().Get<Strings>("classlabels_strings");
  const std::vector<int64_t> ints = node.attrs().Ints("classlabels_int64s");
  const bool has_strings = strings != nullptr && !strings->empty();
  if (has_strings == !ints.empty()) {
    return absl::InvalidArgumentError(
        "expected labels in one of classlabels_strings and classlabels_int64s");
  }
  if (!has_strings) return HostTensor::Ints(ints);
  return HostTensor::Strings({static_cast<int64_t>(strings->size())}, *strings);
}

}  // namespace

NodeResults ZipMap(const NodeOperands& operands, const ValueMemory& memory) {
  ASSIGN_OR_RETURN(const HostTensor labels, LabelsOf(operands.node));
  ASSIGN_OR_RETURN(const Tensor input, operands.TensorAt(0));
  ASSIGN_OR_RETURN(const HostTensor scores, memory.ToHost(input));
  const Dims& dims = scores.dims();
  const int64_t columns = labels.elements();
  if (scores.dtype() != DType::kF32 || dims.empty() || dims.size() > 2 || dims.back() != columns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected f32[N,", columns, "] or f32[", columns, "] for ", columns, " labels, found ",
        NameOf(scores.dtype()), ToString(absl::MakeConstSpan(dims))));
  }
  // The maps share the labels and look at the scores.
  const Tensor keys = TensorMaker::Of(labels);
  const auto owner = std::make_shared<const HostTensor>(scores);
  const float* next = scores.data<float>().data();
  std::vector<ModelValue> maps;
  for (int64_t row = 0; row < scores.elements() / columns; ++row) {
    std::vector<ModelValue> elements;
    for (int64_t i = 0; i < columns; ++i, ++next) {
      elements.emplace_back(TensorMaker::Make(
          DType::kF32, {}, {}, std::shared_ptr<void>(owner, const_cast<float*>(next))));
    }
    maps.push_back(ModelValue::Map(keys, std::move(elements)));
  }
  return std::vector<ModelValue>{ModelValue::Sequence(std::move(maps))};
}

NodeResults CastMap(const NodeOperands& operands, const ValueMemory& memory) {
  const Node& node = operands.node;
  ASSIGN_OR_RETURN(const MapParts map, MapAt(operands, 0, memory));
  if (map.keys.dtype() != DType::kI64) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected keys of i64, found ", NameOf(map.keys.dtype())));
  }
  const std::string form = node.attrs().String("map_form", "DENSE");
  if (form != "DENSE" && form != "SPARSE") {
    return absl::InvalidArgumentError(
        absl::StrCat("map_form: expected DENSE or SPARSE, found ", form));
  }
  const auto keys = map.keys.data<int64_t>();
  std::vector<int64_t> from = DensePositions(keys);
  if (form == "SPARSE") {
    ASSIGN_OR_RETURN(from, SparsePositions(node, keys));
  }
  ASSIGN_OR_RETURN(const DType dtype, CastTo(node));
  ASSIGN_OR_RETURN(
      const std::vector<HostTensor> cast,
      RunOnHost({.op = "Cast", .attrs = {{"to", static_cast<int64_t>(dtype)}}}, {map.values}));
  ASSIGN_OR_RETURN(const HostTensor row, Row(cast[0], from));
  return std::vector<ModelValue>{TensorMaker::Of(row)};
}

NodeResults DictVectorizer(const NodeOperands& operands, const ValueMemory& memory) {
  const Node& node = operands.node;
  const auto* strings = node.attrs().Get<Strings>("string_vocabulary");
  const auto* ints = node.attrs().Get<std::vector<int64_t>>("int64_vocabulary");
  if ((strings == nullptr) == (ints == nullptr)) {
    return absl::InvalidArgumentError("expected one of string_vocabulary and int64_vocabulary");
  }
  ASSIGN_OR_RETURN(const MapParts map, MapAt(operands, 0, memory));
  const DType expected = strings != nullptr ? DType::kString : DType::kI64;
  if (map.keys.dtype() != expected) {
    return absl::InvalidArgumentError(absl::StrCat("expected keys of ", NameOf(expected),
                                                   ", as the vocabulary has, found ",
                                                   NameOf(map.keys.dtype())));
  }
  const std::vector<int64_t> from = strings != nullptr
                                        ? Lookup(*strings, absl::MakeConstSpan(map.keys.strings()))
                                        : Lookup(*ints, map.keys.data<int64_t>());
  ASSIGN_OR_RETURN(const HostTensor row, Row(map.values, from));
  return std::vector<ModelValue>{TensorMaker::Of(row)};
}

}  // namespace onnx_cudnn
