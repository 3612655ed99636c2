#include "runtime/ops/ml/lookup.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

template <typename E>
int64_t CodeOf(E element) {
  if constexpr (std::is_integral_v<E>) {
    return static_cast<int64_t>(element);
  } else {
    const auto x = Widen<double>(element);
    if (std::isnan(x)) return std::bit_cast<int64_t>(std::numeric_limits<double>::quiet_NaN());
    return std::bit_cast<int64_t>(x == 0 ? 0.0 : x);
  }
}

std::vector<int64_t> CodesOf(const HostTensor& numbers) {
  return VisitElementType(numbers.dtype(), [&](auto tag) {
    std::vector<int64_t> codes;
    for (const auto& e : numbers.data<decltype(tag)>()) codes.push_back(CodeOf(e));
    return codes;
  });
}

template <typename Key>
void AddKeys(const std::vector<Key>& keys, bool last_counts,
             absl::flat_hash_map<Key, int64_t>& indices) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto [entry, is_new] = indices.try_emplace(keys[i], i);
    if (!is_new && last_counts) entry->second = static_cast<int64_t>(i);
  }
}

template <typename Key>
std::vector<int64_t> FindKeys(const std::vector<Key>& keys,
                              const absl::flat_hash_map<Key, int64_t>& indices) {
  std::vector<int64_t> found;
  found.reserve(keys.size());
  for (const Key& key : keys) {
    const auto entry = indices.find(key);
    found.push_back(entry == indices.end() ? -1 : entry->second);
  }
  return found;
}

}  // namespace

Lookup::Lookup(const HostTensor& keys, Repeated repeated) {
  const bool last_counts = repeated == Repeated::kLast;
  if (keys.dtype() == DType::kString) {
    AddKeys(keys.strings(), last_counts, by_string_);
  } else {
    AddKeys(CodesOf(keys), last_counts, by_number_);
  }
}

std::vector<int64_t> Lookup::IndicesOf(const HostTensor& x) const {
  return x.dtype() == DType::kString ? FindKeys(x.strings(), by_string_)
                                     : FindKeys(CodesOf(x), by_number_);
}

HostTensor ElementsAt(const HostTensor& values, const HostTensor& otherwise,
                      const std::vector<int64_t>& indices, Dims dims) {
  if (values.dtype() == DType::kString) {
    std::vector<std::string> strings;
    for (const int64_t i : indices)
      strings.push_back(i < 0 ? otherwise.strings()[0] : values.strings()[i]);
    return HostTensor::Strings(std::move(dims), std::move(strings));
  }
  HostTensor elements = HostTensor::Allocate(values.dtype(), std::move(dims));
  const int64_t bytes = BytesOf(values.dtype(), 1);
  char* to = static_cast<char*>(elements.mutable_raw());
  for (const int64_t i : indices) {
    const void* from = i < 0 ? otherwise.raw() : static_cast<const char*>(values.raw()) + i * bytes;
    std::memcpy(to, from, bytes);
    to += bytes;
  }
  return elements;
}

}  // namespace onnx_cudnn
