#include "python/src/values.h"

#include <utility>
#include <vector>

#include "python/src/tensor.h"

namespace onnx_cudnn::python {
namespace {

namespace nb = nanobind;

std::vector<ModelValue> Elements(nb::handle list) {
  std::vector<ModelValue> elements;
  for (nb::handle element : list) elements.push_back(ModelValueOf(element));
  return elements;
}

}  // namespace

ModelValue ModelValueOf(nb::handle value) {
  if (value.is_none()) return ModelValue::Optional();
  if (nb::isinstance<nb::list>(value)) return ModelValue::Sequence(Elements(value));
  if (nb::isinstance<nb::tuple>(value)) {
    const auto keys = nb::cast<const PyTensor*>(value[0]);
    return ModelValue::Map(Tensor::Borrow(keys->view()), Elements(value[1]));
  }
  return Tensor::Borrow(nb::cast<const PyTensor*>(value)->view());
}

nb::object ToPython(const ModelValue& value) {
  if (value.kind() == ValueKind::kTensor) return nb::cast(PyTensor(value.tensor()));
  if (value.kind() == ValueKind::kOptional) {
    return value.elements().empty() ? nb::none() : ToPython(value.elements()[0]);
  }
  nb::list elements;
  for (const ModelValue& element : value.elements()) elements.append(ToPython(element));
  if (value.kind() == ValueKind::kSequence) return elements;
  return nb::make_tuple(PyTensor(value.tensor()), std::move(elements));
}

}  // namespace onnx_cudnn::python
