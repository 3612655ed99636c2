// Runs the requests of a batch as one Run of a Session.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/triton/batch_memory.h"
#include "runtime/triton/device_session.h"
#include "runtime/triton/model_version.h"
#include "runtime/triton/served_request.h"

namespace onnx_cudnn::triton {

// Of one instance: one caller at a time. The buffer of a single request is used in place where it
// is whole, aligned and in memory of the host or of a GPU of the Session, inputs as well as
// outputs; rows of several requests are copied once, within the GPU where all of them lie there.
class BatchRun {
 public:
  BatchRun(DeviceSession& session, const ModelVersion& model);

  // Opens what copies within the GPUs of the Session need, so that no request waits for it.
  absl::Status Prepare();
  // The end of each request, whose response is then ready to be sent.
  //   batch  of equal shapes but for the rows, which are as many as the model allows
  //   times  written: when inputs were ready, and outputs were computed
  std::vector<absl::Status> Run(const std::vector<ServedRequest*>& batch, RunTimes& times);
  BatchCopies& copies() { return copies_; }

 private:
  // The batch that runs.
  struct Rows {
    const std::vector<ServedRequest*>& requests;
    int64_t size = 0;       // rows of the Run
    bool is_whole = false;  // it consists of one request
    DeviceRef gpu = {};     // that runs it; the host: not known, or none
    std::vector<NamedView> inputs;
  };
  // What a Run writes for an output: own memory of which requests get copies, or the response's.
  struct Written {
    TensorView view;
    std::optional<ResponseBuffer> response;  // of the only request
    bool is_in_place = false;
  };

  std::vector<absl::Status> TryRun(const std::vector<ServedRequest*>& batch, RunTimes& times);
  DeviceRef GpuOf(const Rows& rows) const;
  bool IsUsable(const Rows& rows, const void* data, const DeviceRef& device, DType dtype) const;
  absl::StatusOr<TensorView> InputOf(const Rows& rows, size_t input);
  absl::StatusOr<TensorView> Joined(const Rows& rows, size_t input, TensorView view);
  absl::StatusOr<TensorView> JoinedStrings(const Rows& rows, size_t input, TensorView view);
  absl::StatusOr<Written> OutputOf(const Rows& rows, size_t output, const ValueInfo& info);
  absl::StatusOr<std::vector<Written>> RunInto(const Rows& rows,
                                               const std::vector<ValueInfo>& infos,
                                               RunTimes& times);
  absl::StatusOr<std::vector<Written>> RunToNew(const Rows& rows, std::vector<Tensor>& tensors,
                                                RunTimes& times);
  // Gives a request its rows, from `row` on.
  absl::Status Respond(ServedRequest& request, int64_t row, const std::vector<Written>& outputs);
  DeviceRef OwnMemory(const Rows& rows) const;

  DeviceSession& session_;
  const ModelVersion& model_;
  std::vector<DeviceRef> gpus_;  // of the Session
  BatchCopies copies_;           // before what frees memory by it
  std::vector<BatchBuffer> inputs_, outputs_;
  std::vector<Tensor> strings_;  // of each input
};

}  // namespace onnx_cudnn::triton
