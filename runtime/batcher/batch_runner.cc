#include "runtime/batcher/batch_runner.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

int64_t ElementsOfRow(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin() + 1, shape.end(), int64_t{1}, std::multiplies<>());
}

// Copies `rows` rows of `shape`'s dims behind the first, from the row `from_row` to `to_row`.
void CopyRows(DType dtype, const std::vector<int64_t>& shape, const void* from, int64_t from_row,
              void* to, int64_t to_row, int64_t rows) {
  const int64_t elements = ElementsOfRow(shape);
  if (rows * elements == 0) return;
  if (dtype == DType::kString) {
    const auto* source = static_cast<const std::string*>(from) + from_row * elements;
    std::copy(source, source + rows * elements, static_cast<std::string*>(to) + to_row * elements);
    return;
  }
  const int64_t bytes = elements * BitsOf(dtype) / 8;
  std::memcpy(static_cast<char*>(to) + to_row * bytes,
              static_cast<const char*>(from) + from_row * bytes, rows * bytes);
}

// The rows of an output that belong to one request.
Result<Tensor> RowsOf(const Tensor& output, int64_t begin, int64_t rows) {
  std::vector<int64_t> shape = output.shape();
  shape[0] = rows;
  Result<Tensor> tensor = Tensor::Allocate(output.dtype(), shape);
  if (tensor.ok()) {
    CopyRows(output.dtype(), shape, output.raw(), begin, tensor.value().raw(), 0, rows);
  }
  return tensor;
}

// Whether each output has one row for each of the batch and can be divided between bytes.
std::optional<Error> CheckRows(const Session& session, const std::vector<Tensor>& outputs,
                               int64_t size) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<int64_t>& shape = outputs[i].shape();
    const std::string& name = session.outputs()[i].name;
    if (shape.empty() || shape[0] != size) {
      return Error{ErrorCode::kFailedPrecondition,
                   absl::StrCat("output \"", name, "\" has ", shape.empty() ? 1 : shape[0],
                                " rows for a batch of ", size, ": its requests cannot be joined")};
    }
    if (ElementsOfRow(shape) * BitsOf(outputs[i].dtype()) % 8 != 0) {
      return Error{ErrorCode::kUnimplemented,
                   absl::StrCat("output \"", name, "\": rows of ", ElementsOfRow(shape), " ",
                                NameOf(outputs[i].dtype()), " are not divided between bytes")};
    }
  }
  return std::nullopt;
}

std::vector<Result<std::vector<Tensor>>> AllFail(size_t count, const Error& error) {
  return std::vector<Result<std::vector<Tensor>>>(count, Result<std::vector<Tensor>>(error));
}

}  // namespace

Result<TensorView> BatchRunner::Gathered(const std::vector<BatcherRequest>& requests, size_t input,
                                         int64_t size) {
  TensorView view = requests[0].inputs[input];
  view.shape[0] = size;
  view.strides.clear();  // those of a single row may be any
  Tensor& buffer = buffers_[input];
  const int64_t bytes = size * ElementsOfRow(view.shape) * BitsOf(view.dtype) / 8;
  if (view.dtype == DType::kString || buffer.bytes() < bytes) {
    Result<Tensor> made = view.dtype == DType::kString ? Tensor::Allocate(view.dtype, view.shape)
                                                       : Tensor::Allocate(DType::kU8, {bytes});
    if (!made.ok()) return made.error();
    buffer = std::move(made).value();
  }
  int64_t row = 0;
  for (const BatcherRequest& request : requests) {
    const TensorView& from = request.inputs[input];
    CopyRows(view.dtype, view.shape, from.data, 0, buffer.raw(), row, request.rows);
    row += request.rows;
  }
  for (; row < size; ++row) {
    CopyRows(view.dtype, view.shape, requests[0].inputs[input].data, 0, buffer.raw(), row, 1);
  }
  view.data = buffer.raw();
  return view;
}

std::vector<BatchRunner::Outputs> BatchRunner::RunTogether(
    const std::vector<BatcherRequest>& requests, BatchCounts& counts) {
  int64_t rows = 0;
  for (const BatcherRequest& request : requests) rows += request.rows;
  const int64_t size = *std::lower_bound(sizes_.begin(), sizes_.end(), rows);
  ++counts.batches;
  counts.rows += rows;
  counts.padding_rows += size - rows;
  std::vector<NamedView> inputs;
  const bool is_whole = requests.size() == 1 && rows == size;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (is_whole) {
      inputs.emplace_back(requests[0].inputs[i]);
      continue;
    }
    Result<TensorView> gathered = Gathered(requests, i, size);
    if (!gathered.ok()) return AllFail(requests.size(), gathered.error());
    inputs.emplace_back(std::move(gathered).value());
  }
  Outputs outputs = session_.Run(inputs);
  if (!outputs.ok()) return AllFail(requests.size(), outputs.error());
  if (const std::optional<Error> error = CheckRows(session_, outputs.value(), size)) {
    return AllFail(requests.size(), *error);
  }
  if (is_whole) return {std::move(outputs)};
  std::vector<Outputs> divided;
  int64_t row = 0;
  for (const BatcherRequest& request : requests) {
    std::vector<Tensor> own;
    std::optional<Error> error;
    for (const Tensor& output : outputs.value()) {
      Result<Tensor> part = RowsOf(output, row, request.rows);
      if (part.ok()) {
        own.push_back(std::move(part).value());
      } else {
        error = part.error();
      }
    }
    row += request.rows;
    divided.push_back(error.has_value() ? Outputs(*error) : Outputs(std::move(own)));
  }
  return divided;
}

std::vector<BatchRunner::Outputs> BatchRunner::Run(const std::vector<BatcherRequest>& requests,
                                                   BatchCounts& counts) {
  std::vector<Outputs> ended = RunTogether(requests, counts);
  const bool one_is_wrong =
      requests.size() > 1 && !ended[0].ok() && ended[0].error().code == ErrorCode::kInvalidArgument;
  if (one_is_wrong) {
    for (size_t i = 0; i < requests.size(); ++i) {
      ended[i] = RunTogether({requests[i]}, counts)[0];
    }
  }
  counts.failed += std::count_if(ended.begin(), ended.end(),
                                 [](const Outputs& outputs) { return !outputs.ok(); });
  return ended;
}

}  // namespace onnx_cudnn
