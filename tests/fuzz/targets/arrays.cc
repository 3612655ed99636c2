#include "absl/log/check.h"
#include "absl/strings/match.h"
#include "tests/fuzz/targets.h"
#include "tests/support/temp_folder.h"
#include "tools/common/npy.h"

namespace onnx_cudnn {
namespace {

void CheckRefusal(const absl::Status& status) {
  CHECK(absl::IsInvalidArgument(status) || absl::IsUnimplemented(status)) << status;
}

// Writes an array that was read, and reads it again.
void CheckComesBack(const HostTensor& tensor) {
  const absl::StatusOr<std::string> file = FormatNpy(tensor);
  CHECK_OK(file.status());
  const absl::StatusOr<HostTensor> back = ParseNpy(*file);
  CHECK_OK(back.status());
  CHECK(SameContent(*back, tensor));
}

void CheckNpz(std::string_view bytes) {
  static const TempFolder folder;
  const absl::StatusOr<NamedTensors> arrays = ReadNpz(folder.Write("arrays.npz", bytes));
  if (!arrays.ok()) return CheckRefusal(arrays.status());
  for (const auto& [name, tensor] : *arrays) CheckComesBack(tensor);
}

}  // namespace

void FuzzArrays(std::string_view bytes) {
  if (absl::StartsWith(bytes, "PK")) return CheckNpz(bytes);
  const absl::StatusOr<HostTensor> tensor = ParseNpy(bytes);
  if (!tensor.ok()) return CheckRefusal(tensor.status());
  CheckComesBack(*tensor);
}

}  // namespace onnx_cudnn
