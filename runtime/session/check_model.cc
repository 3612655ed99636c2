#include "onnx_cudnn/check_model.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/session/arguments.h"
#include "runtime/session/edge.h"
#include "runtime/session/model_checker.h"
#include "runtime/session/taken_dims.h"

namespace onnx_cudnn {
namespace {

absl::StatusOr<ModelChecker::NamedHostTensors> TensorsOf(const std::vector<NamedView>& views) {
  ModelChecker::NamedHostTensors tensors;
  for (size_t i = 0; i < views.size(); ++i) {
    const TensorView& view = views[i].view;
    RETURN_IF_ERROR(CheckPointer(view, "values", i));
    if (!(view.device == DeviceRef{})) {
      return absl::InvalidArgumentError("values: expected memory of the host");
    }
    if (view.dtype == DType::kString) {
      const auto* strings = static_cast<const std::string*>(view.data);
      tensors[views[i].name] =
          HostTensor::Strings(view.shape, {strings, strings + ElementsOf(view.shape)});
      continue;
    }
    HostTensor tensor = HostTensor::Allocate(view.dtype, view.shape);
    std::memcpy(tensor.mutable_raw(), view.data, tensor.bytes());
    tensors[views[i].name] = std::move(tensor);
  }
  return tensors;
}

// The dims of every input: those given, then defaults.
absl::StatusOr<ModelChecker::NamedDims> DimsFor(const std::vector<ValueInfo>& inputs,
                                                const CheckModelOptions& options) {
  ModelChecker::NamedDims dims;
  for (const ValueInfo& info : inputs) {
    Dims& of = dims[info.name];
    for (const ValueInfo::Extent& extent : info.dims) of.push_back(extent.value);
  }
  for (const auto& [name, given] : options.shapes) {
    const auto found = dims.find(name);
    if (found == dims.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the model has no input \"", name, "\""));
    }
    found->second = given;
  }
  for (const NamedView& value : options.values) dims[value.name] = value.view.shape;
  DimFiller filler;
  for (const ValueInfo& info : inputs) filler.Give(info, dims[info.name]);
  filler.TakeImages(inputs);
  for (const ValueInfo& info : inputs) {
    Dims& of = dims[info.name];
    if (of.size() == info.dims.size()) of = filler.Fill(info, of).dims;
  }
  return dims;
}

}  // namespace

Result<ModelCheck> CheckModel(const std::string& path, const CheckModelOptions& options) {
  return AtEdge<ModelCheck>([&]() -> absl::StatusOr<ModelCheck> {
    ASSIGN_OR_RETURN(const ModelChecker checker, ModelChecker::Load(path, options.session));
    ASSIGN_OR_RETURN(const auto values, TensorsOf(options.values));
    ASSIGN_OR_RETURN(const auto dims, DimsFor(checker.inputs(), options));
    return checker.Check(dims, values);
  });
}

}  // namespace onnx_cudnn
