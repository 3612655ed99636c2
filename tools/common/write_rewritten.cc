#include "tools/common/write_rewritten.h"

#include <algorithm>
#include <iostream>

#include "absl/strings/str_format.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

int OpsetToWrite(const Graph& graph, int asked) {
  return asked != 0 ? asked : std::max(graph.file_opset(), kOldestWrittenOpset);
}

absl::Status WriteRewritten(const Graph& graph, int asked, const NodeMetadata& metadata,
                            const std::string& file) {
  const OpsetRule rule = asked == 0 ? OpsetRule::kOrLater : OpsetRule::kThis;
  const auto written = WriteModelOf(graph, OpsetToWrite(graph, asked), rule, metadata);
  if (!written.ok()) return Annotate(written.status(), file);
  RETURN_IF_ERROR(WriteFile(file, written->bytes));
  std::cout << absl::StreamFormat("wrote   %s  opset %d, IR version %d", file, written->opset,
                                  written->ir_version);
  if (!written->reason.empty()) {
    std::cout << absl::StreamFormat("; the model's is %d, %s", graph.file_opset(), written->reason);
  }
  std::cout << "\n";
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
