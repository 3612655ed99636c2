// A request of a client, and its response.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/base/not_copyable.h"
#include "runtime/triton/model_version.h"
#include "runtime/triton/triton_api.h"

namespace onnx_cudnn::triton {

// Bytes in memory of the host or of a GPU.
struct Piece {
  const void* data = nullptr;
  int64_t bytes = 0;
  DeviceRef device;
};

struct RequestInput {
  DType dtype = DType::kUndefined;
  std::vector<int64_t> shape;
  std::vector<Piece> pieces;  // in order
};

// The server's memory for an output.
struct ResponseBuffer {
  void* data = nullptr;
  int64_t bytes = 0;
  DeviceRef device;
};

// The times that statistics need, of std::chrono::steady_clock in nanoseconds.
uint64_t NowNs();
struct RunTimes {
  uint64_t begin = 0, compute_begin = 0, compute_end = 0;
};

// Owns the request: it must be ended once. Of one thread.
class ServedRequest : NotCopyable {
 public:
  explicit ServedRequest(TRITONBACKEND_Request* request) : request_(request) {}

  // Reads what was asked.
  //   max_batch  0: the model has no batches, and the request is one row
  //   errors     InvalidArgument: inputs of different numbers of rows, or of none; bytes that are
  //              not those of the shape. Cancelled: the client asked for its end
  absl::Status Read(const Session& session, const std::vector<OutputType>& outputs,
                    int64_t max_batch);

  const std::vector<RequestInput>& inputs() const { return inputs_; }  // in the model's order
  int64_t rows() const { return rows_; }
  bool wants(size_t output) const { return wanted_[output]; }

  // Asks the server for the memory of an output.
  //   preferred  where the Run would write it
  absl::StatusOr<ResponseBuffer> NewOutput(const OutputType& type,
                                           const std::vector<int64_t>& shape, int64_t bytes,
                                           const DeviceRef& preferred);

  // Sends the response or the error, reports statistics and releases the request.
  void End(TRITONBACKEND_ModelInstance* instance, const absl::Status& status,
           const RunTimes& times);

 private:
  absl::Status ReadInput(const ValueInfo& info, RequestInput& input);
  absl::Status ReadWanted(const std::vector<OutputType>& outputs);

  TRITONBACKEND_Request* const request_;
  TRITONBACKEND_Response* response_ = nullptr;
  std::vector<RequestInput> inputs_;
  std::vector<bool> wanted_;
  int64_t rows_ = 1;
};

}  // namespace onnx_cudnn::triton
