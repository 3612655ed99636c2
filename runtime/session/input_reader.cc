#include "runtime/session/input_reader.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/graph/deciding_inputs.h"
#include "runtime/session/arguments.h"

namespace onnx_cudnn {
namespace {

// Limit for all strings of an input: each set of strings has its own Program, which stores them.
// Each string counts one byte more than its length.
constexpr int64_t kMostStringBytes = int64_t{1} << 20;

absl::StatusOr<std::vector<std::string>> StringsIn(const TensorView& view) {
  const absl::Span<const std::string> strings(static_cast<const std::string*>(view.data),
                                              ElementsOf(view.shape));
  int64_t bytes = static_cast<int64_t>(strings.size());
  for (const std::string& s : strings) bytes += static_cast<int64_t>(s.size());
  if (bytes <= kMostStringBytes) return std::vector<std::string>(strings.begin(), strings.end());
  return absl::UnimplementedError(
      absl::StrFormat("expected strings of at most %d bytes, found %d", kMostStringBytes, bytes));
}

// Whether it is a numeric scalar or vector; nothing else decides shapes.
bool IsShort(const ValueInfo& info) {
  return info.dtype != DType::kString && info.ranked && info.dims.size() <= 1;
}

}  // namespace

absl::StatusOr<std::vector<int>> DecidingInputs(Graph& graph,
                                                const std::vector<ValueInfo>& inputs) {
  std::vector<int> deciding;
  if (std::none_of(inputs.begin(), inputs.end(), IsShort)) return deciding;
  ASSIGN_OR_RETURN(deciding, InputsThatDecideShapes(graph));
  std::erase_if(deciding, [&](int i) { return !IsShort(inputs[i]); });
  return deciding;
}

absl::StatusOr<InputTensors> ValuesToRead(const Graph& graph, const std::vector<ValueInfo>& infos,
                                          const InputTensors& values) {
  Graph inferred = graph.Clone();
  ASSIGN_OR_RETURN(const std::vector<int> deciding, DecidingInputs(inferred, infos));
  InputTensors read;
  for (size_t i = 0; i < infos.size(); ++i) {
    const auto value = values.find(infos[i].name);
    const bool decides = absl::c_linear_search(deciding, static_cast<int>(i));
    if (value != values.end() && (decides || infos[i].dtype == DType::kString)) read.insert(*value);
  }
  return read;
}

absl::StatusOr<std::string> InputReader::BytesIn(const TensorView& view,
                                                 void* callers_stream) const {
  const int64_t bytes = BytesOf(view.dtype, ElementsOf(view.shape));
  if (view.device == DeviceRef{}) return std::string(static_cast<const char*>(view.data), bytes);
  std::string copy(bytes, '\0');
  RETURN_IF_ERROR(transfers_.ToHost(view.data, copy.data(), bytes, callers_stream));
  return copy;
}

absl::StatusOr<InputValues> InputReader::ValuesIn(const std::vector<const TensorView*>& inputs,
                                                  void* callers_stream) const {
  InputValues values;
  for (const int i : deciding_) {
    const TensorView& input = *inputs[i];
    const int64_t bytes = BytesOf(input.dtype, ElementsOf(input.shape));
    if (bytes > kMostDecidingBytes || (bytes > 0 && input.data == nullptr)) continue;
    ASSIGN_OR_RETURN(values.bytes[i], BytesIn(input, callers_stream));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->dtype != DType::kString) continue;
    RETURN_IF_ERROR(CheckPointer(*inputs[i], "input", i));
    absl::StatusOr<std::vector<std::string>> strings = StringsIn(*inputs[i]);
    if (!strings.ok()) {
      return Annotate(strings.status(), absl::StrFormat("input \"%s\"", inputs_[i].name));
    }
    values.strings.emplace(i, *std::move(strings));
  }
  return values;
}

}  // namespace onnx_cudnn
