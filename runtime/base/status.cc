#include "runtime/base/status.h"

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {

absl::Status Annotate(const absl::Status& status, std::string_view where) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

}  // namespace onnx_cudnn
