#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/ops/random_draw.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {
namespace {

// Types of shapes, axes, indices and conditions. Constants of other types with several elements are
// weights.
constexpr DTypeSet kIndexTypes = {DType::kI32, DType::kI64, DType::kU32, DType::kU64, DType::kBool};

std::string Quoted(std::string_view text) { return absl::StrCat(text.size(), "'", text, "'"); }

std::string TypeText(const HostTensor& tensor) {
  return ToString(Type::Tensor(tensor.dtype(), tensor.dims()));
}

std::string ContentOf(const HostTensor& tensor) {
  std::string text = absl::StrCat(TypeText(tensor), "=");
  if (tensor.dtype() == DType::kString) {
    for (const std::string& s : tensor.strings()) absl::StrAppend(&text, Quoted(s));
    return text;
  }
  const std::string_view bytes(static_cast<const char*>(tensor.raw()), tensor.bytes());
  return absl::StrCat(text, absl::BytesToHexString(bytes));
}

std::string ConstantText(const HostTensor& tensor) {
  if (kIndexTypes.Has(tensor.dtype()) || tensor.elements() <= 1) return ContentOf(tensor);
  return TypeText(tensor);
}

// The text of an Attribute starts with its kind, so that 1 and 1.0 differ; floats are written as
// bits.
struct AttributeText {
  std::string operator()(int64_t v) const { return absl::StrCat("i", v); }
  std::string operator()(float v) const { return absl::StrFormat("f%a", v); }
  std::string operator()(const std::string& v) const { return absl::StrCat("s", Quoted(v)); }
  std::string operator()(const HostTensor& v) const { return absl::StrCat("t", ContentOf(v)); }
  std::string operator()(const Type& v) const { return absl::StrCat("T", ToString(v)); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text = "[";
    for (const T& v : values) absl::StrAppend(&text, (*this)(v), ",");
    return absl::StrCat(text, "]");
  }
};

// Writes Nodes with numbers instead of names: Values numbered by first appearance, constants by
// content.
class Writer {
 public:
  void Write(const Node& node) {
    absl::StrAppend(&text_, node.domain(), ":", node.op(), ".", node.opset(), "(");
    for (const Value* v : node.inputs()) absl::StrAppend(&text_, Reference(v), ",");
    absl::StrAppend(&text_, ")");
    for (const auto& [name, value] : node.attrs()) {
      if (name == kRandomStreamsAttribute) continue;
      absl::StrAppend(&text_, " ", name, "=", std::visit(AttributeText{}, value));
    }
    for (const auto& [name, body] : node.bodies())
      absl::StrAppend(&text_, " ", name, BodyText(*body));
    absl::StrAppend(&text_, "->");
    for (const Value* v : node.outputs()) absl::StrAppend(&text_, Reference(v), ",");
    text_ += '\n';
  }

  std::string Reference(const Value* value) {
    if (value == nullptr) return "-";
    auto [it, added] = numbers_.try_emplace(value, static_cast<int>(numbers_.size()));
    if (!added) return absl::StrCat("%", it->second);
    const std::string what =
        value->is_constant() ? ConstantText(value->constant()) : ToString(value->type());
    return absl::StrCat("%", it->second, value->is_constant() ? "!" : "#", what);
  }

  std::string& text() { return text_; }

 private:
  static std::string BodyText(const Graph& body) {
    Writer writer;
    for (const Value* v : body.inputs()) absl::StrAppend(&writer.text_, writer.Reference(v), ",");
    for (const Node* node : body.TopologicalOrder()) writer.Write(*node);
    for (const GraphOutput& output : body.outputs()) {
      absl::StrAppend(&writer.text_, writer.Reference(output.value), ",");
    }
    return absl::StrCat("{", writer.text_, "}");
  }

  std::map<const Value*, int> numbers_;
  std::string text_;
};

std::string PlacementsText(Writer& writer, const std::vector<const Value*>& values,
                           const std::vector<Placement>& placements) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    absl::StrAppend(&text, writer.Reference(values[i]), "@",
                    placements[i].space == Space::kHost ? "host" : "device", "(",
                    placements[i].format.ToString(), ") ");
  }
  return text;
}

}  // namespace

std::string Signature(const Candidate& candidate, const Target& target) {
  const Boundary boundary = BoundaryOf(candidate.nodes);
  Writer writer;
  absl::StrAppend(
      &writer.text(), candidate.engine->name(), " ", candidate.engine->version(), " on ",
      target.info.name, " sm", target.info.compute_capability, target.numerics.tf32 ? " tf32" : "",
      target.numerics.nondeterminism ? " nondeterminism" : "", " ", target.max_bytes, "\n");
  for (const Node* node : candidate.nodes) writer.Write(*node);
  // Two statements, because the order in which a Writer meets Values is part of the text.
  const std::string inputs = PlacementsText(writer, boundary.inputs, candidate.inputs);
  const std::string outputs = PlacementsText(writer, boundary.outputs, candidate.outputs);
  return absl::StrCat(writer.text(), "in ", inputs, "out ", outputs);
}

}  // namespace onnx_cudnn
