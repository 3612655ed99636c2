#include "runtime/kernels/cuda/common/quantized_node.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// The position of a parameter among the inputs and in QuantParameters, and the axis along which it
// may vary.
struct Place {
  int input;
  size_t at;
  bool by_row, by_column;
};

constexpr Place kInteger[] = {
    {2, offsetof(QuantParameters, left_zero), true, false},
    {3, offsetof(QuantParameters, right_zero), false, true},
};
constexpr Place kQLinear[] = {
    {1, offsetof(QuantParameters, left), true, false},
    {2, offsetof(QuantParameters, left_zero), true, false},
    {4, offsetof(QuantParameters, right), false, true},
    {5, offsetof(QuantParameters, right_zero), false, true},
    {6, offsetof(QuantParameters, output), true, false},
    {7, offsetof(QuantParameters, zero), true, false},
    {8, offsetof(QuantParameters, bias), false, true},
};

absl::Span<const Place> PlacesOf(const Node& node) {
  return IsQLinear(node) ? absl::MakeConstSpan(kQLinear) : absl::MakeConstSpan(kInteger);
}

}  // namespace

bool IsQLinear(const Node& node) { return node.op().starts_with("QLinear"); }

bool IsQuantizedProduct(const Node& node) {
  return IsQLinear(node) || node.op() == "ConvInteger" || node.op() == "MatMulInteger";
}

const Value& RightOf(const Node& node) { return node.input(IsQLinear(node) ? 3 : 1); }

absl::StatusOr<QuantParameters> QuantParametersOf(const Node& node, Operands& operands,
                                                  int64_t rows, int64_t columns) {
  QuantParameters parameters{};
  for (const Place& place : PlacesOf(node)) {
    if (!node.has_input(place.input)) continue;
    const KernelOperand operand = operands.Of(node.input(place.input));
    QuantTensor tensor{.data = nullptr, .dtype = operand.dtype()};
    const int64_t count = operand.value->elements(), wanted = place.by_row ? rows : columns;
    if (count != 1 && count != wanted) {
      return absl::UnimplementedError(
          absl::StrCat(operand.value->name(), " has ", count, " elements, expected 1 or ", wanted));
    }
    if (count != 1) (place.by_row ? tensor.row_step : tensor.column_step) = 1;
    *reinterpret_cast<QuantTensor*>(reinterpret_cast<char*>(&parameters) + place.at) = tensor;
  }
  return parameters;
}

void BindQuantParameters(const Node& node, Operands& operands, KernelCall& call, size_t at) {
  for (const Place& place : PlacesOf(node)) {
    if (!node.has_input(place.input)) continue;
    call.Bind(at + place.at + offsetof(QuantTensor, data),
              operands.Of(node.input(place.input)).slot);
  }
}

}  // namespace onnx_cudnn
