#include "runtime/session/segments/sub_model.h"

#include <atomic>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
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

// Open dims that inference knows to be equal have one name.
std::vector<Type> FoundIn(const Graph& graph) {
  std::vector<Type> types;
  std::map<std::string, std::string> names;
  for (const Value* input : graph.inputs()) {
    Type type = input->type();
    for (size_t axis = 0; axis < type.dims.size(); ++axis) {
      Dim& dim = type.dims[axis];
      if (dim.value >= 0) continue;
      std::string name = absl::StrCat(input->name(), "[", axis, "]");
      const std::string& key = dim.symbol.empty() ? name : dim.symbol;
      dim.symbol = names.try_emplace(key, name).first->second;
    }
    types.push_back(std::move(type));
  }
  return names.empty() ? std::vector<Type>() : types;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SubModel>> SubModel::Create(Graph graph, OutputReader reader,
                                                                 OpenDims dims) {
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
  if (dims == OpenDims::kFound) model->found = FoundIn(model->graph);
  for (Value* input : model->graph.inputs()) ForgetDims(model->graph, *input);
  return model;
}

}  // namespace onnx_cudnn
