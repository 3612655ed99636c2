#include "tools/common/reference_run.h"

#include <utility>

#include "runtime/base/status.h"
#include "tools/common/exit_codes.h"
#include "tools/common/inputs.h"
#include "tools/common/load_session.h"

namespace onnx_cudnn {

absl::StatusOr<NamedTensors> RunReference(const std::string& model, const SessionOptions& asked,
                                          const std::vector<NamedView>& inputs) {
  SessionOptions options{.device = DeviceChoice::kCpu,
                         .threads = asked.threads,
                         .optimization_level = 0,
                         .precision = PrecisionChoice::kStrict};
  options.op_libraries = asked.op_libraries;
  ASSIGN_OR_RETURN(const Session session, LoadSession(model, options));
  Result<std::vector<Tensor>> outputs = session.Run(inputs);
  if (!outputs.ok()) return ToStatus(outputs.error());
  NamedTensors by_name;
  for (size_t i = 0; i < outputs.value().size(); ++i) {
    by_name[session.outputs()[i].name] = HostTensorOf(outputs.value()[i]);
  }
  return by_name;
}

}  // namespace onnx_cudnn
