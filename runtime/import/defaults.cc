#include "runtime/import/defaults.h"

namespace onnx_cudnn {

void StateDefaults(NodeSpec& spec) {
  if (spec.op == "STFT" && spec.domain.empty() && !spec.attrs.Has("onesided"))
    spec.attrs.Set("onesided", int64_t{1});
}

}  // namespace onnx_cudnn
