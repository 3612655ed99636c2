#include "runtime/graph/attrs.h"

#include <algorithm>

namespace onnx_cudnn {
namespace {

auto LowerBound(auto& entries, std::string_view name) {
  return std::lower_bound(entries.begin(), entries.end(), name,
                          [](const Attrs::Entry& e, std::string_view n) { return e.first < n; });
}

template <typename T>
T GetOr(const Attrs& attrs, std::string_view name, T otherwise) {
  const T* value = attrs.Get<T>(name);
  return value == nullptr ? otherwise : *value;
}

}  // namespace

Attrs::Attrs(std::initializer_list<Entry> entries) {
  for (const Entry& e : entries) Set(e.first, e.second);
}

const Attribute* Attrs::Find(std::string_view name) const {
  auto it = LowerBound(entries_, name);
  return it != entries_.end() && it->first == name ? &it->second : nullptr;
}

int64_t Attrs::Int(std::string_view name, int64_t otherwise) const {
  return GetOr<int64_t>(*this, name, otherwise);
}
float Attrs::Float(std::string_view name, float otherwise) const {
  return GetOr<float>(*this, name, otherwise);
}
std::string Attrs::String(std::string_view name, std::string_view otherwise) const {
  return GetOr<std::string>(*this, name, std::string(otherwise));
}
std::vector<int64_t> Attrs::Ints(std::string_view name, std::vector<int64_t> otherwise) const {
  return GetOr<std::vector<int64_t>>(*this, name, std::move(otherwise));
}

void Attrs::Set(std::string_view name, Attribute value) {
  auto it = LowerBound(entries_, name);
  if (it != entries_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    entries_.emplace(it, std::string(name), std::move(value));
  }
}

void Attrs::Remove(std::string_view name) {
  auto it = LowerBound(entries_, name);
  if (it != entries_.end() && it->first == name) entries_.erase(it);
}

}  // namespace onnx_cudnn
