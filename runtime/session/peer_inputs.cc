#include "runtime/session/peer_inputs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/session/arguments.h"

namespace onnx_cudnn {
namespace {

bool IsElsewhere(const TensorView& view, const DeviceRef& device) {
  return view.device.kind == DeviceKind::kCuda && device.kind == DeviceKind::kCuda &&
         view.device != device;
}

absl::StatusOr<Tensor> Copy(const LoadedModel& model, const TensorView& from, int64_t bytes) {
  Device& device = model.device().device();
  RETURN_IF_ERROR(device.MakeCurrent());
  ASSIGN_OR_RETURN(Tensor copy, model.memory().Allocate(from.dtype, from.shape, Space::kDevice));
  if (bytes > 0) {
    RETURN_IF_ERROR(device.CopyFromPeer(copy.raw(), from.data, from.device.ordinal, bytes));
  }
  return copy;
}

}  // namespace

absl::StatusOr<PeerInputs> PeerInputs::Of(const LoadedModel& model,
                                          const std::vector<NamedView>& given,
                                          const RunOptions& options) {
  PeerInputs inputs(given);
  const DeviceRef device = model.device().ref();
  for (size_t i = 0; i < given.size(); ++i) {
    const TensorView& view = given[i].view;
    if (!IsElsewhere(view, device)) continue;
    const absl::StatusOr<int64_t> bytes = CheckedBytes(view.dtype, view.shape);
    const bool is_whole = bytes.ok() && (*bytes == 0 || view.data != nullptr) && IsRowMajor(view);
    if (view.dtype == DType::kString || !is_whole) continue;
    if (options.stream != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("run option stream: input ", i, " is in memory of ", NameOf(view.device),
                       " and is copied to ", NameOf(device), " before the run, expected null"));
    }
    ASSIGN_OR_RETURN(Tensor copy, Copy(model, view, *bytes));
    if (inputs.copied_.empty()) inputs.copied_ = given;
    inputs.copied_[i].view = copy.view();
    inputs.tensors_.push_back(std::move(copy));
  }
  return inputs;
}

}  // namespace onnx_cudnn
