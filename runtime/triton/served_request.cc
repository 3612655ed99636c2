#include "runtime/triton/served_request.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/triton/data_types.h"
#include "runtime/triton/errors.h"

namespace onnx_cudnn::triton {
namespace {

DeviceRef DeviceOf(TRITONSERVER_MemoryType memory, int64_t id) {
  if (memory != TRITONSERVER_MEMORY_GPU) return {};
  return {DeviceKind::kCuda, static_cast<int>(id)};
}

// Whether elements of `shape` may have so many bytes. Each string has four bytes before it that say
// its length.
absl::Status CheckSize(const RequestInput& input, int64_t found) {
  const bool is_text = input.dtype == DType::kString;
  int64_t bytes = is_text ? 4 : ::onnx_cudnn::BitsOf(input.dtype) / 8;
  for (const int64_t extent : input.shape) {
    if (extent >= 0 && !__builtin_mul_overflow(bytes, extent, &bytes)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("[", absl::StrJoin(input.shape, ","), "] is no shape"));
  }
  if (found == bytes || (is_text && found > bytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "expected ", is_text ? "at least " : "", bytes, " bytes of ",
      ::onnx_cudnn::NameOf(input.dtype), "[", absl::StrJoin(input.shape, ","), "], found ", found));
}

}  // namespace

uint64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

absl::Status ServedRequest::ReadInput(const ValueInfo& info, RequestInput& input) {
  TRITONBACKEND_Input* from = nullptr;
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_RequestInput(request_, info.name.c_str(), &from)));
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  const int64_t* shape = nullptr;
  uint32_t rank = 0, pieces = 0;
  uint64_t bytes = 0;
  const char* name = nullptr;
  RETURN_IF_ERROR(
      StatusOf(TRITONBACKEND_InputProperties(from, &name, &type, &shape, &rank, &bytes, &pieces)));
  input.dtype = DTypeOf(type);
  input.shape.assign(shape, shape + rank);
  int64_t found = 0;
  for (uint32_t i = 0; i < pieces; ++i) {
    const void* data = nullptr;
    uint64_t size = 0;
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
    int64_t id = 0;
    RETURN_IF_ERROR(StatusOf(TRITONBACKEND_InputBuffer(from, i, &data, &size, &memory, &id)));
    if (size == 0) continue;
    found += static_cast<int64_t>(size);
    input.pieces.push_back({data, static_cast<int64_t>(size), DeviceOf(memory, id)});
  }
  return Annotate(CheckSize(input, found), absl::StrCat("input \"", info.name, "\""));
}

absl::Status ServedRequest::ReadWanted(const std::vector<OutputType>& outputs) {
  wanted_.assign(outputs.size(), false);
  uint32_t count = 0;
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_RequestOutputCount(request_, &count)));
  for (uint32_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    RETURN_IF_ERROR(StatusOf(TRITONBACKEND_RequestOutputName(request_, i, &name)));
    for (size_t output = 0; output < outputs.size(); ++output) {
      if (outputs[output].name == name) wanted_[output] = true;
    }
  }
  return absl::OkStatus();
}

absl::Status ServedRequest::Read(const Session& session, const std::vector<OutputType>& outputs,
                                 int64_t max_batch) {
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ResponseNew(&response_, request_)));
  bool is_cancelled = false;
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_RequestIsCancelled(request_, &is_cancelled)));
  if (is_cancelled) return absl::CancelledError("the client cancelled the request");
  RETURN_IF_ERROR(ReadWanted(outputs));
  for (const ValueInfo& info : session.inputs()) {
    RETURN_IF_ERROR(ReadInput(info, inputs_.emplace_back()));
  }
  if (max_batch == 0) return absl::OkStatus();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::vector<int64_t>& shape = inputs_[i].shape;
    const int64_t rows = shape.empty() ? 0 : shape[0];
    if (i == 0) rows_ = rows;
    if (rows != rows_ || rows < 1 || rows > max_batch) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input \"", session.inputs()[i].name, "\" has ", rows, " rows, expected ",
          i == 0 ? absl::StrCat("1 to ", max_batch) : absl::StrCat(rows_, " as the first input")));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ResponseBuffer> ServedRequest::NewOutput(const OutputType& type,
                                                        const std::vector<int64_t>& shape,
                                                        int64_t bytes, const DeviceRef& preferred) {
  TRITONBACKEND_Output* output = nullptr;
  RETURN_IF_ERROR(
      StatusOf(TRITONBACKEND_ResponseOutput(response_, &output, type.name.c_str(), type.type,
                                            shape.data(), static_cast<uint32_t>(shape.size()))));
  TRITONSERVER_MemoryType memory =
      preferred.kind == DeviceKind::kCuda ? TRITONSERVER_MEMORY_GPU : TRITONSERVER_MEMORY_CPU;
  int64_t id = preferred.ordinal;
  ResponseBuffer buffer{.bytes = bytes};
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_OutputBuffer(output, &buffer.data, bytes, &memory, &id)));
  buffer.device = DeviceOf(memory, id);
  return buffer;
}

void ServedRequest::End(TRITONBACKEND_ModelInstance* instance, const absl::Status& status,
                        const RunTimes& times) {
  TRITONSERVER_Error* error = ErrorOf(status);
  if (response_ != nullptr) {
    LogIfError(TRITONBACKEND_ResponseSend(response_, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error));
  }
  if (error != nullptr) TRITONSERVER_ErrorDelete(error);
  const uint64_t now = NowNs();
  const auto reached = [&](uint64_t time) { return time == 0 ? now : time; };
  LogIfError(TRITONBACKEND_ModelInstanceReportStatistics(instance, request_, status.ok(),
                                                         times.begin, reached(times.compute_begin),
                                                         reached(times.compute_end), now));
  LogIfError(TRITONBACKEND_RequestRelease(request_, TRITONSERVER_REQUEST_RELEASE_ALL));
}

}  // namespace onnx_cudnn::triton
