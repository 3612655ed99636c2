#include "runtime/import/tensor_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/import/onnx_tensor.h"

namespace onnx_cudnn {

absl::StatusOr<HostTensor> LoadTensorFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, Limits{}.file_bytes));
  onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a TensorProto"));
  }
  absl::StatusOr<HostTensor> tensor = ImportTensor(std::move(proto), TensorSource{});
  if (!tensor.ok()) return Annotate(tensor.status(), path);
  return tensor;
}

}  // namespace onnx_cudnn
