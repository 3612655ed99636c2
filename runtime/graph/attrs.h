#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// The value of an attribute. Graph attributes are bodies of a Node, not Attributes.
using Attribute =
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                 std::vector<std::string>, HostTensor, std::vector<HostTensor>, Type>;

// A Node's attributes, sorted by name. A getter with a default returns it if the attribute is
// absent or of another type (types are checked against the op's schema at import).
class Attrs {
 public:
  using Entry = std::pair<std::string, Attribute>;
  Attrs() = default;
  Attrs(std::initializer_list<Entry> entries);

  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  const Attribute* Find(std::string_view name) const;
  template <typename T>
  const T* Get(std::string_view name) const {
    const Attribute* a = Find(name);
    return a == nullptr ? nullptr : std::get_if<T>(a);
  }
  int64_t Int(std::string_view name, int64_t otherwise) const;
  float Float(std::string_view name, float otherwise) const;
  std::string String(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> Ints(std::string_view name, std::vector<int64_t> otherwise = {}) const;

  void Set(std::string_view name, Attribute value);
  void Remove(std::string_view name);

 private:
  std::vector<Entry> entries_;
};

// An attribute value in ONNX's textual syntax: 1, 1.5, "text", [1, 2]; a tensor as f32[2,2] {…}.
std::string ToString(const Attribute& attribute);

}  // namespace onnx_cudnn
