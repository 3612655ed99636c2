#include "runtime/graph/node_refusal.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

NodeRefusal RefusalOf(const Node& node, const absl::Status& why) {
  std::string_view reason = why.message();
  absl::ConsumePrefix(&reason, absl::StrCat(Where(node), ": "));
  const bool is_named = !node.name().empty() || !node.has_output(0);
  return {.node = is_named ? node.name() : node.output(0).name(),
          .domain = node.domain(),
          .op = node.op(),
          .opset = node.domain().empty() ? node.file_opset() : node.opset(),
          .why = absl::Status(why.code(), reason),
          .id = node.id()};
}

bool IsRefusal(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsInvalidArgument(status);
}

}  // namespace onnx_cudnn
