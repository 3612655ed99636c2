// Runs a batch of requests as one Run of a Session.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "onnx_cudnn/batcher.h"
#include "runtime/batcher/request_queue.h"

namespace onnx_cudnn {

// What a batch came to.
struct BatchCounts {
  int64_t batches = 0, rows = 0, padding_rows = 0, failed = 0;
};

// Of one thread.
class BatchRunner {
 public:
  //   sizes  numbers of rows that Runs have, ascending
  BatchRunner(const Session& session, std::vector<int64_t> sizes)
      : session_(session), sizes_(std::move(sizes)), buffers_(session.inputs().size()) {}

  // The outputs of each request, or its error, parallel to `requests`, which have at most as many
  // rows as the largest size.
  std::vector<Result<std::vector<Tensor>>> Run(const std::vector<BatcherRequest>& requests,
                                               BatchCounts& counts);

 private:
  using Outputs = Result<std::vector<Tensor>>;
  std::vector<Outputs> RunTogether(const std::vector<BatcherRequest>& requests,
                                   BatchCounts& counts);
  // The rows of an input of all requests, and copies of the first one up to `size`.
  Result<TensorView> Gathered(const std::vector<BatcherRequest>& requests, size_t input,
                              int64_t size);

  const Session& session_;
  const std::vector<int64_t> sizes_;
  std::vector<Tensor> buffers_;  // of each input, as bytes; reused
};

}  // namespace onnx_cudnn
