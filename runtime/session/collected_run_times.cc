#include "runtime/session/collected_run_times.h"

namespace onnx_cudnn {

CollectedRunTimes::CollectedRunTimes(RunTimes& times) { CollectRunTimes(&times); }
CollectedRunTimes::~CollectedRunTimes() { CollectRunTimes(nullptr); }

}  // namespace onnx_cudnn
