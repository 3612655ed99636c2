#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/session/loaded_model.h"

namespace onnx_cudnn {

// The inputs of a Run; those in the memory of a GPU other than the model's are copied to the
// model's, which has ended before the Run begins.
class PeerInputs {
 public:
  //   given   must outlive it; what is wrong with them is left to PrepareRun
  //   errors  InvalidArgument: a stream, beside which the copies could not be freed; a GPU that
  //           does not exist. ResourceExhausted
  static absl::StatusOr<PeerInputs> Of(const LoadedModel& model,
                                       const std::vector<NamedView>& given,
                                       const RunOptions& options);
  const std::vector<NamedView>& views() const { return copied_.empty() ? *given_ : copied_; }

 private:
  explicit PeerInputs(const std::vector<NamedView>& given) : given_(&given) {}

  const std::vector<NamedView>* given_;
  std::vector<NamedView> copied_;  // all of them, if any is a copy
  std::vector<Tensor> tensors_;
};

// The same for inputs of any kind, whose tensors share the bytes of `given` but for the copies.
absl::StatusOr<std::vector<NamedValue>> ValuesHere(const LoadedModel& model,
                                                   const std::vector<NamedValue>& given,
                                                   const RunOptions& options);

}  // namespace onnx_cudnn
