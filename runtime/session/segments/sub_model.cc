#include "runtime/session/segments/sub_model.h"

#include <atomic>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/graph/deciding_inputs.h"

namespace onnx_cudnn {
namespace {

bool MayBeShort(const Type& type) {
  return type.is_tensor() && type.dtype != DType::kString &&
         (!type.ranked || type.dims.size() <= 1);
}

// Where values are known when it runs, their dims are too.
void ForgetDims(Graph& graph, Value& input) {
  Type type = input.type();
  if (!type.is_tensor()) return;
  type.ranked = false;
  type.dims.clear();
  graph.SetType(input, std::move(type));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SubModel>> SubModel::Create(Graph graph, OutputReader reader) {
  static std::atomic<int64_t> ids = 0;
  auto model = std::make_shared<SubModel>();
  model->id = ++ids;
  model->graph = std::move(graph);
  model->reader = reader;
  ASSIGN_OR_RETURN(const std::vector<int> deciding,
                   InputsThatDecideShapes(model->graph, Deciding::kOfPart));
  for (const int i : deciding) {
    if (MayBeShort(model->graph.inputs()[i]->type())) model->deciding.push_back(i);
  }
  for (Value* input : model->graph.inputs()) ForgetDims(model->graph, *input);
  return model;
}

}  // namespace onnx_cudnn
