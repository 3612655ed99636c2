#include "tools/common/load_session.h"

#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "tools/common/exit_codes.h"

namespace onnx_cudnn {
namespace {

absl::Status CheckTensors(const std::vector<ValueInfo>& infos, std::string_view what) {
  for (const ValueInfo& info : infos) {
    if (info.kind == ValueKind::kTensor) continue;
    return absl::UnimplementedError(
        absl::StrCat(what, " ", ToString(info),
                     " is no tensor: the programs run models of tensors "
                     "alone, C++ (Session::RunValues) and Python run this one too"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Session> LoadSession(const std::string& model, const SessionOptions& options) {
  Result<Session> loaded = Session::Load(model, options);
  if (!loaded.ok()) return ToStatus(loaded.error());
  RETURN_IF_ERROR(CheckTensors(loaded.value().inputs(), "input"));
  RETURN_IF_ERROR(CheckTensors(loaded.value().outputs(), "output"));
  return std::move(loaded).value();
}

}  // namespace onnx_cudnn
