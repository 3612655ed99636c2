#include "runtime/cudnn/cuda/graph_text.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace onnx_cudnn {
namespace {

class Writer {
 public:
  void Number(bool value) { numbers_.push_back(value ? 1 : 0); }
  void Number(int value) { numbers_.push_back(value); }
  void Number(int64_t value) { numbers_.push_back(value); }
  void Number(float value) { numbers_.push_back(std::bit_cast<uint32_t>(value)); }
  void Number(double value) { numbers_.push_back(std::bit_cast<int64_t>(value)); }
  template <typename Enum>
  void Enumerator(Enum value, Enum) {
    numbers_.push_back(static_cast<int64_t>(value));
  }
  template <typename Items, typename F>
  void List(Items& items, F&& item) {
    numbers_.push_back(static_cast<int64_t>(items.size()));
    for (auto& i : items) item(i);
  }
  std::string text() const { return absl::StrJoin(numbers_, " "); }

 private:
  std::vector<int64_t> numbers_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) {
    for (const std::string_view part : absl::StrSplit(text, ' ')) {
      int64_t number = 0;
      ok_ = ok_ && absl::SimpleAtoi(part, &number);
      numbers_.push_back(number);
    }
  }
  void Number(bool& value) { value = Next(0, 1) == 1; }
  void Number(int& value) { value = static_cast<int>(Next(INT32_MIN, INT32_MAX)); }
  void Number(int64_t& value) { value = Next(INT64_MIN, INT64_MAX); }
  void Number(float& value) {
    value = std::bit_cast<float>(static_cast<uint32_t>(Next(0, UINT32_MAX)));
  }
  void Number(double& value) { value = std::bit_cast<double>(Next(INT64_MIN, INT64_MAX)); }
  template <typename Enum>
  void Enumerator(Enum& value, Enum last) {
    value = static_cast<Enum>(Next(0, static_cast<int64_t>(last)));
  }
  // An item has at least one number.
  template <typename Items, typename F>
  void List(Items& items, F&& item) {
    items.resize(static_cast<size_t>(Next(0, static_cast<int64_t>(numbers_.size() - at_))));
    for (auto& i : items) item(i);
  }
  bool is_whole() const { return ok_ && at_ == numbers_.size(); }

 private:
  // The next number; the least one, and `ok_` is false, if there is none within the bounds.
  int64_t Next(int64_t least, int64_t most) {
    ok_ = ok_ && at_ < numbers_.size() && numbers_[at_] >= least && numbers_[at_] <= most;
    return ok_ ? numbers_[at_++] : least;
  }

  std::vector<int64_t> numbers_;
  size_t at_ = 0;
  bool ok_ = true;
};

template <typename Archive, typename Number>
void Numbers(Archive& archive, std::vector<Number>& numbers) {
  archive.List(numbers, [&](Number& number) { archive.Number(number); });
}

template <typename Archive>
void Tensor(Archive& archive, CudnnTensor& tensor) {
  archive.Enumerator(tensor.kind, CudnnTensor::Kind::kVirtual);
  archive.Number(tensor.index);
  archive.Number(tensor.number);
  archive.Number(tensor.offset);
  archive.Enumerator(tensor.dtype, static_cast<DType>(kLastDType));
  Numbers(archive, tensor.dims);
  Numbers(archive, tensor.strides);
}

template <typename Archive>
void Operation(Archive& archive, CudnnOperation& operation) {
  archive.Enumerator(operation.kind, CudnnOperation::Kind::kAttention);
  Numbers(archive, operation.in);
  archive.Number(operation.out);
  CudnnWindow& window = operation.window;
  for (std::vector<int64_t>* list :
       {&window.kernel, &window.stride, &window.dilation, &window.pad_before, &window.pad_behind}) {
    Numbers(archive, *list);
  }
  archive.Number(operation.counts_padding);
  archive.Enumerator(operation.mode, kLastPointwiseMode);
  archive.Number(operation.lower);
  archive.Number(operation.upper);
  archive.Number(operation.slope);
  archive.Number(operation.beta);
  archive.Enumerator(operation.reduction, CudnnOperation::Reduction::kMin);
  archive.Number(operation.is_causal);
}

template <typename Archive>
void Whole(Archive& archive, CudnnGraph& graph) {
  archive.Enumerator(graph.dtype, static_cast<DType>(kLastDType));
  archive.List(graph.tensors, [&](CudnnTensor& tensor) { Tensor(archive, tensor); });
  archive.List(graph.operations, [&](CudnnOperation& operation) { Operation(archive, operation); });
}

bool NamesItsTensors(const CudnnGraph& graph) {
  const auto is_tensor = [&](int i) {
    return i >= 0 && i < static_cast<int>(graph.tensors.size());
  };
  return std::all_of(graph.operations.begin(), graph.operations.end(),
                     [&](const CudnnOperation& operation) {
                       return is_tensor(operation.out) &&
                              std::all_of(operation.in.begin(), operation.in.end(), is_tensor);
                     });
}

}  // namespace

std::string ToText(const CudnnGraph& graph) {
  Writer writer;
  CudnnGraph copy = graph;  // what reads and what writes is one list of fields
  Whole(writer, copy);
  return writer.text();
}

absl::StatusOr<CudnnGraph> ParseCudnnGraph(std::string_view text) {
  Reader reader(text);
  CudnnGraph graph;
  Whole(reader, graph);
  if (!reader.is_whole() || !NamesItsTensors(graph)) {
    return absl::InvalidArgumentError("a cuDNN graph as text: malformed");
  }
  return graph;
}

}  // namespace onnx_cudnn
