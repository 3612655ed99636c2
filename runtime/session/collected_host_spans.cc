#include "runtime/session/collected_host_spans.h"

namespace onnx_cudnn {

CollectedHostSpans::CollectedHostSpans(std::vector<HostSpan>& spans) { CollectHostSpans(&spans); }
CollectedHostSpans::~CollectedHostSpans() { CollectHostSpans(nullptr); }

}  // namespace onnx_cudnn
