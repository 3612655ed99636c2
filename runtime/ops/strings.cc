#include "runtime/ops/strings.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/cast_strings.h"
#include "runtime/ops/evaluate.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

using Tensors = std::vector<HostTensor>;

// Ops that only compare elements or select them.
constexpr std::string_view kCompares[] = {"Equal", "TfIdfVectorizer", "Where"};

bool IsString(const Value* value) { return value != nullptr && value->dtype() == DType::kString; }

bool MovesOrCompares(const Node& node) {
  return TraitsOf(node).moves_bytes || absl::c_linear_search(kCompares, node.op());
}

// Assigns a number to each distinct string; 0 is the empty one, which is what Pad fills with.
class Numbering {
 public:
  Numbering() { NumberOf(""); }

  HostTensor NumbersOf(const HostTensor& tensor) {
    const std::vector<int64_t> numbers = NumbersOf(tensor.strings());
    return HostTensor::Of<int64_t>(DType::kI64, tensor.dims(), numbers);
  }
  std::vector<int64_t> NumbersOf(const std::vector<std::string>& strings) {
    std::vector<int64_t> numbers;
    for (const std::string& s : strings) numbers.push_back(NumberOf(s));
    return numbers;
  }

  absl::StatusOr<HostTensor> StringsOf(const HostTensor& numbers) const {
    std::vector<std::string> strings;
    int64_t most_bytes = kMostStringBytes;
    for (const int64_t number : numbers.data<int64_t>()) {
      most_bytes -= static_cast<int64_t>(sizeof(std::string) + strings_[number]->size());
      if (most_bytes < 0) return TooManyStrings();
      strings.push_back(*strings_[number]);
    }
    return HostTensor::Strings(numbers.dims(), std::move(strings));
  }

 private:
  int64_t NumberOf(const std::string& string) {
    auto [it, added] = numbers_.try_emplace(string, strings_.size());
    if (added) strings_.push_back(&it->first);
    return it->second;
  }

  std::map<std::string, int64_t> numbers_;
  std::vector<const std::string*> strings_;  // by number
};

absl::Status CheckOutputs(const Node& node) {
  for (const Value* v : node.outputs()) {
    if (v == nullptr) continue;
    if (!v->is_static()) return absl::UnimplementedError("the shape of an output is not known");
    if (v->elements() > kMostStringBytes / static_cast<int64_t>(sizeof(std::string)))
      return TooManyStrings();
  }
  return absl::OkStatus();
}

// `node` with constant inputs whose strings are replaced by numbers.
Graph OverNumbers(const Node& node, Numbering& numbering) {
  Graph graph;
  NodeSpec spec{.op = node.op(),
                .attrs = node.attrs(),
                .outputs = {},
                .name = node.name(),
                .opset = node.opset()};
  for (const Value* v : node.inputs()) {
    spec.inputs.push_back(
        v == nullptr
            ? nullptr
            : &graph.AddConstant(IsString(v) ? numbering.NumbersOf(v->constant()) : v->constant()));
  }
  if (const auto* pool = node.attrs().Get<std::vector<std::string>>("pool_strings")) {
    spec.attrs.Remove("pool_strings");
    spec.attrs.Set("pool_int64s", numbering.NumbersOf(*pool));
  }
  for (const Value* v : node.outputs()) spec.outputs.push_back(v == nullptr ? "" : "*");
  Node& copy = graph.AddNode(std::move(spec));
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const Value* v = node.outputs()[i];
    if (v == nullptr) continue;
    graph.SetType(*copy.outputs()[i],
                  Type::Tensor(IsString(v) ? DType::kI64 : v->dtype(), v->dims()));
    graph.AddOutput(v->name(), *copy.outputs()[i]);
  }
  return graph;
}

absl::StatusOr<Tensors> MoveStrings(const Node& node) {
  RETURN_IF_ERROR(CheckOutputs(node));
  Numbering numbering;
  const Graph graph = OverNumbers(node, numbering);
  ASSIGN_OR_RETURN(const Tensors results, Evaluate(graph, {}));
  Tensors outputs(node.outputs().size());
  size_t next = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs()[i] == nullptr) continue;
    outputs[i] = results[next++];
    if (!IsString(node.outputs()[i])) continue;
    ASSIGN_OR_RETURN(outputs[i], numbering.StringsOf(outputs[i]));
  }
  return outputs;
}

}  // namespace

bool TouchesStrings(const Node& node) {
  return std::any_of(node.inputs().begin(), node.inputs().end(), IsString) ||
         std::any_of(node.outputs().begin(), node.outputs().end(), IsString);
}

int64_t BytesOfStrings(const HostTensor& tensor) {
  int64_t bytes = 0;
  for (const std::string& s : tensor.strings()) {
    bytes += static_cast<int64_t>(sizeof(s) + s.size());
  }
  return bytes;
}

absl::Status TooManyStrings() {
  return absl::ResourceExhaustedError(
      absl::StrCat("its strings have more than ", kMostStringBytes, " bytes"));
}

absl::StatusOr<Tensors> EvaluateStrings(const Node& node) {
  if (node.domain().empty() && MovesOrCompares(node)) return MoveStrings(node);
  if (!node.domain().empty() || (node.op() != "Cast" && node.op() != "CastLike")) {
    return absl::UnimplementedError("the type is not implemented");
  }
  ASSIGN_OR_RETURN(HostTensor output, CastStrings(node));
  return Tensors{std::move(output)};
}

}  // namespace onnx_cudnn
