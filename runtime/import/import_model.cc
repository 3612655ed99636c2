#include "runtime/import/import_model.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/import/check_model.h"
#include "runtime/import/functions.h"
#include "runtime/import/graph_importer.h"

namespace onnx_cudnn {

absl::StatusOr<Graph> ImportModel(onnx::ModelProto model, const ImportContext& context) {
  ASSIGN_OR_RETURN(const Opsets opsets, CheckHeader(model));
  ASSIGN_OR_RETURN(const NodeOpsets node_opsets, InlineLocalFunctions(model, context.limits));
  RETURN_IF_ERROR(CheckLimits(model.graph(), context.limits));
  const TensorSource tensors{.limits = context.limits, .external = context.external};
  const ModelScope scope{.tensors = tensors,
                         .opsets = opsets,
                         .node_opsets = node_opsets,
                         .refusals = context.refusals};
  Graph graph;
  GraphImporter importer(GraphImporter::Kind::kMain, scope, *model.mutable_graph(), graph);
  RETURN_IF_ERROR(importer.Import(context.payloads));
  return graph;
}

}  // namespace onnx_cudnn
