#include "runtime/base/nvtx.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

namespace onnx_cudnn {

#ifdef NVTX_VERSION
void PushNvtxRange(const char* name) { nvtxRangePushA(name); }
void PopNvtxRange() { nvtxRangePop(); }
#else
void PushNvtxRange(const char*) {}
void PopNvtxRange() {}
#endif

}  // namespace onnx_cudnn
