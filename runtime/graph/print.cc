#include "runtime/graph/print.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/printable.h"
#include "runtime/graph/attrs.h"
#include "runtime/graph/element_types.h"

namespace onnx_cudnn {
namespace {

// Constants with at most this many elements are printed completely.
constexpr int64_t kMostShown = 8;
constexpr int64_t kFirstShown = 3;  // printed elements of larger constants

// The shortest text that parses to the same number.
template <typename T>
std::string Shortest(T x) {
  char text[64];
  return std::string(text, std::to_chars(text, text + sizeof(text), x).ptr);
}

// Float attributes must parse as floats: 1.0, not 1.
std::string FloatText(float x) {
  std::string text = Shortest(x);
  return text.find_first_not_of("-0123456789") == std::string::npos ? absl::StrCat(text, ".0")
                                                                    : text;
}

std::string Quoted(std::string_view text) {
  const std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}});
  return absl::StrCat("\"", Printable(escaped), "\"");
}

// A name, in quotes if it could be parsed as something else.
std::string Name(std::string_view name) {
  const bool plain = !name.empty() && std::none_of(name.begin(), name.end(), [](unsigned char c) {
    return c <= ' ' || c >= 127 || std::string_view(",(){}<>=\"").find(c) != std::string_view::npos;
  });
  return plain ? std::string(name) : Quoted(name);
}

template <typename T, typename Text>
std::string Elements(const HostTensor& tensor, int64_t count, Text text) {
  return absl::StrJoin(tensor.data<T>().first(count), ", ",
                       [&](std::string* out, T x) { out->append(text(x)); });
}
// Elements of types that the host cannot convert: their bytes.
std::string RawBytes(const HostTensor& tensor, int64_t count) {
  const std::string_view bytes(static_cast<const char*>(tensor.raw()),
                               BytesOf(tensor.dtype(), count));
  return absl::StrCat("0x", absl::BytesToHexString(bytes));
}

std::string FirstElements(const HostTensor& tensor, int64_t count) {
  if (count == 0) return "";
  if (tensor.dtype() == DType::kString) {
    return absl::StrJoin(absl::MakeSpan(tensor.strings()).first(count), ", ",
                         [](std::string* out, const std::string& s) { out->append(Quoted(s)); });
  }
  if (!kFixedSizeTypes.Has(tensor.dtype())) return RawBytes(tensor, count);
  return VisitElementType(tensor.dtype(), [&](auto element) {
    using E = decltype(element);
    return Elements<E>(tensor, count, [](E x) -> std::string {
      if constexpr (std::is_same_v<E, Bool>) {
        return x.byte != 0 ? "1" : "0";
      } else if constexpr (kIsHalf<E>) {
        return Shortest(ToFloat(x));
      } else {
        return Shortest(x);
      }
    });
  });
}

// FNV-1a over the bytes; equal in every run and on every host of the same byte order.
uint32_t HashOf(const HostTensor& tensor) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](std::string_view bytes) {
    for (unsigned char c : bytes) hash = (hash ^ c) * 0x100000001b3u;
  };
  if (tensor.dtype() == DType::kString) {
    for (const std::string& s : tensor.strings()) add(absl::StrCat(s.size(), ":", s));
  } else {
    add({static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.bytes())});
  }
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

std::string TensorType(const HostTensor& tensor) {
  return absl::StrCat(NameOf(tensor.dtype()), ToString(absl::MakeConstSpan(tensor.dims())));
}

std::string ConstantText(const HostTensor& tensor) {
  const int64_t count = tensor.elements();
  if (count <= kMostShown) return absl::StrCat("{", FirstElements(tensor, count), "}");
  return absl::StrCat("<", TensorType(tensor), " ", absl::Hex(HashOf(tensor), absl::kZeroPad8), " ",
                      FirstElements(tensor, kFirstShown), ", …>");
}

std::string TensorText(const HostTensor& tensor) {
  if (tensor.elements() > kMostShown) return ConstantText(tensor);
  return absl::StrCat(TensorType(tensor), " ", ConstantText(tensor));
}

template <typename T, typename Text>
std::string List(const std::vector<T>& values, Text text) {
  return absl::StrCat(
      "[",
      absl::StrJoin(values, ", ",
                    [&](std::string* out, const T& value) { out->append(text(value)); }),
      "]");
}

struct AttributeText {
  std::string operator()(int64_t x) const { return absl::StrCat(x); }
  std::string operator()(float x) const { return FloatText(x); }
  std::string operator()(const std::string& x) const { return Quoted(x); }
  std::string operator()(const HostTensor& x) const { return TensorText(x); }
  std::string operator()(const Type& x) const { return ToString(x); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    return List(values, *this);
  }
};

std::string ValueText(const Value* value) {
  if (value == nullptr) return "\"\"";
  return value->is_constant() ? ConstantText(value->constant()) : Name(value->name());
}

std::string ValueList(absl::Span<Value* const> values) {
  return absl::StrJoin(values, ", ",
                       [](std::string* out, const Value* v) { out->append(ValueText(v)); });
}

std::string GraphText(const Graph& graph, int indent);

// Attributes, then bodies: each on lines of its own, or only its name if `indent` < 0.
std::string AttributeList(const Node& node, int indent) {
  if (node.attrs().empty() && node.bodies().empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [name, value] : node.attrs()) {
    parts.push_back(absl::StrCat(name, " = ", ToString(value)));
  }
  const bool lines = indent >= 0 && !node.bodies().empty();
  const std::string start = lines ? absl::StrCat("\n", std::string(indent + 2, ' ')) : "";
  for (const auto& [name, body] : node.bodies()) {
    parts.push_back(absl::StrCat(
        start, name, " = ",
        lines ? GraphText(*body, indent + 2) : absl::StrCat(Name(body->name()), " {…}")));
  }
  std::string list;
  for (const std::string& part : parts) {
    absl::StrAppend(&list, list.empty() ? "" : (part[0] == '\n' ? "," : ", "), part);
  }
  return absl::StrCat("<", list, start.substr(0, lines ? indent + 1 : 0), ">");
}

std::string NodeText(const Node& node, int indent) {
  return absl::StrCat(ValueList(node.outputs()), node.outputs().empty() ? "" : " = ", node.domain(),
                      node.domain().empty() ? "" : ".", node.op(), AttributeList(node, indent), "(",
                      ValueList(node.inputs()), ")");
}

std::string OutputText(const GraphOutput& output) {
  std::string text = absl::StrCat(ToString(output.value->type()), " ", Name(output.name));
  const bool renamed = output.value->is_constant() || output.value->name() != output.name;
  if (renamed) absl::StrAppend(&text, " = ", ValueText(output.value));
  return text;
}

std::string GraphText(const Graph& graph, int indent) {
  std::string text = absl::StrCat(
      Name(graph.name()), " (",
      absl::StrJoin(graph.inputs(), ", ",
                    [](std::string* out, const Value* v) {
                      absl::StrAppend(out, ToString(v->type()), " ", Name(v->name()));
                    }),
      ") => (",
      absl::StrJoin(graph.outputs(), ", ",
                    [](std::string* out, const GraphOutput& o) { out->append(OutputText(o)); }),
      ") {\n");
  for (const Node* node : graph.TopologicalOrder()) {
    absl::StrAppend(&text, std::string(indent + 2, ' '), NodeText(*node, indent + 2), "\n");
  }
  return absl::StrCat(text, std::string(indent, ' '), "}");
}

}  // namespace

std::string ToString(const Attribute& attribute) { return std::visit(AttributeText(), attribute); }

std::string Print(const Node& node) { return NodeText(node, -1); }

std::string Print(const Graph& graph) { return absl::StrCat(GraphText(graph, 0), "\n"); }

}  // namespace onnx_cudnn
