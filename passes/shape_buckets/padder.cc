#include "passes/shape_buckets/padder.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// A length for which `difference` is 0, and its value; one that is not negative if there is any.
std::optional<std::pair<int, Affine>> Solve(const Affine& difference, const Lengths& lengths) {
  std::optional<std::pair<int, Affine>> solved;
  for (const auto& [index, factor] : difference.factors()) {
    if (factor != 1 && factor != -1) continue;
    const Affine value = difference.With(index, 0).Times(-factor);
    const bool is_better = !solved.has_value() || solved->second.Least(lengths.most) < 0;
    if (is_better) solved = {index, value};
  }
  return solved;
}

}  // namespace

PaddedAxes Padder::AxesOf(const Value& value) const {
  const auto found = axes_.find(&value);
  if (found != axes_.end()) return found->second;
  PaddedAxes axes;
  for (const int64_t dim : value.dims()) axes.push_back({.extent = dim});
  return axes;
}

absl::Status Padder::SetAxes(const Value& value, PaddedAxes axes) {
  Dims dims;
  bool padded = false;
  for (const PaddedAxis& axis : axes) {
    dims.push_back(axis.extent.At(lengths_.most));
    padded |= !axis.extent.is_constant();
  }
  if (!value.is_static() || value.dims() != dims) {
    return absl::InternalError(absl::StrCat("value \"", value.name(), "\" ", ToString(value.type()),
                                            " is padded to ", ToString(absl::MakeConstSpan(dims))));
  }
  if (padded && BitsOf(value.dtype()) % 8 != 0) {
    return absl::UnimplementedError(absl::StrCat("padding of ", NameOf(value.dtype())));
  }
  if (padded) axes_[&value] = std::move(axes);
  return absl::OkStatus();
}

std::optional<std::vector<Affine>> Padder::ElementsOf(const Value& value) const {
  const auto found = elements_.find(&value);
  if (found != elements_.end()) return found->second;
  if (!value.is_constant() || IsPadded(value)) return std::nullopt;
  const absl::StatusOr<std::vector<int64_t>> numbers = ToInts(value.constant());
  if (!numbers.ok()) return std::nullopt;
  return std::vector<Affine>(numbers->begin(), numbers->end());
}

void Padder::SetElements(Value& value, std::vector<Affine> elements) {
  const bool depends = std::any_of(elements.begin(), elements.end(),
                                   [](const Affine& a) { return !a.is_constant(); });
  elements_[&value] = std::move(elements);
  if (depends) return;
  Value& computed = Computed(value);
  elements_.erase(&value);
  computed_.erase(&value);
  graph_.ReplaceAllUses(value, computed);
  if (computed.producer() != nullptr) Fold(*computed.producer());  // a Cast of constants
}

absl::StatusOr<std::vector<Affine>> Padder::FixOperand(Node& node, int index) {
  const Value& operand = node.input(index);
  std::optional<std::vector<Affine>> elements = ElementsOf(operand);
  if (!elements.has_value()) {
    return absl::UnimplementedError(absl::StrCat("its shape operand \"", operand.name(),
                                                 "\" does not follow linearly from the lengths"));
  }
  if (!DependsOnLengths(operand)) return *std::move(elements);
  HostTensor tensor = HostTensor::Allocate(DType::kI64, operand.dims());
  for (size_t i = 0; i < elements->size(); ++i) {
    tensor.mutable_data<int64_t>()[i] = (*elements)[i].At(lengths_.most);
  }
  Value* fixed = &graph_.AddConstant(std::move(tensor), "shape");
  if (operand.dtype() != DType::kI64) {
    fixed = &Emit("Cast", {fixed}, {{"to", static_cast<int64_t>(operand.dtype())}});
  }
  graph_.SetInput(node, index, fixed);
  return *std::move(elements);
}

void Padder::ComputeOperand(Node& node, int index) {
  if (node.has_input(index) && DependsOnLengths(node.input(index))) {
    graph_.SetInput(node, index, &Computed(node.input(index)));
  }
}

Value& Padder::Computed(Value& value) {
  const auto elements = elements_.find(&value);
  if (elements == elements_.end()) return value;
  if (Value* known = computed_[&value]) return *known;
  const std::vector<Affine> numbers = elements->second;
  const auto constant = [&](auto number_of) -> Value& {
    HostTensor tensor = HostTensor::Allocate(DType::kI64, value.dims());
    for (size_t i = 0; i < numbers.size(); ++i) {
      tensor.mutable_data<int64_t>()[i] = number_of(numbers[i]);
    }
    return graph_.AddConstant(std::move(tensor), "elements");
  };
  Value* sum = &constant([](const Affine& a) { return a.constant(); });
  for (size_t length = 0; length < scalars_.size(); ++length) {
    const int index = static_cast<int>(length);
    const auto factor = [&](const Affine& a) { return a.Has(index) ? a.factors().at(index) : 0; };
    if (std::none_of(numbers.begin(), numbers.end(), factor)) continue;
    sum = &Emit("Add", {sum, &Emit("Mul", {scalars_[length], &constant(factor)})});
  }
  if (value.dtype() != DType::kI64) {
    sum = &Emit("Cast", {sum}, {{"to", static_cast<int64_t>(value.dtype())}});
  }
  computed_[&value] = sum;
  return *sum;
}

Value& Padder::Emit(std::string_view op, std::vector<Value*> inputs, Attrs attrs) {
  Node& node = graph_.AddNode(
      {.op = std::string(op), .inputs = std::move(inputs), .attrs = std::move(attrs)});
  status_.Update(Infer(node));
  Value& output = node.output(0);
  if (status_.ok() && !output.is_static()) {
    status_ = absl::InternalError(absl::StrCat("no static shape for ", op));
  }
  return output;
}

Value& Padder::Ints(const std::vector<int64_t>& numbers) {
  return graph_.AddConstant(HostTensor::Ints(numbers), "ints");
}

Value& Padder::Scalar(int64_t number) {
  return graph_.AddConstant(HostTensor::Ints({number}).Reshaped({}), "number");
}

Value& Padder::Scalar(const Affine& number) {
  return Once(absl::StrCat("scalar ", Text(number)), [&]() -> Value& {
    Value* sum = nullptr;
    for (const auto& [length, factor] : number.factors()) {
      Value* term = scalars_[length];
      if (factor != 1) term = &Emit("Mul", {term, &Scalar(factor)});
      sum = sum == nullptr ? term : &Emit("Add", {sum, term});
    }
    if (sum == nullptr) return Scalar(number.constant());
    return number.constant() == 0 ? *sum : Emit("Add", {sum, &Scalar(number.constant())});
  });
}

Value& Padder::Mask(const Affine& extent, int64_t dim, int trailing) {
  return Once(absl::StrCat("mask ", Text(extent), " ", dim, " ", trailing), [&]() -> Value& {
    Dims dims(trailing + 1, 1);
    dims[0] = dim;
    HostTensor indices = HostTensor::Allocate(DType::kI64, std::move(dims));
    for (int64_t i = 0; i < dim; ++i) indices.mutable_data<int64_t>()[i] = i;
    return Emit("Less", {&graph_.AddConstant(std::move(indices), "indices"), &Scalar(extent)});
  });
}

Value& Padder::Constant(DType dtype, Filler filler) {
  const bool is_float = kFloatTypes.Has(dtype);
  const bool extreme = filler != Filler::kZero && filler != Filler::kOne;
  const DType made = extreme && is_float ? DType::kF32 : DType::kI64;
  HostTensor tensor = HostTensor::Allocate(made, {});
  if (made == DType::kF32) {
    using Limits = std::numeric_limits<float>;
    tensor.mutable_data<float>()[0] = filler == Filler::kNaN      ? Limits::quiet_NaN()
                                      : filler == Filler::kLowest ? -Limits::infinity()
                                                                  : Limits::infinity();
  } else if (!extreme) {
    tensor.mutable_data<int64_t>()[0] = filler == Filler::kOne ? 1 : 0;
  } else {
    const bool is_signed =
        dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
    const int bits = BitsOf(dtype) - (is_signed ? 1 : 0);
    const uint64_t most = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    const int64_t highest = static_cast<int64_t>(most);
    const int64_t lowest = is_signed ? -highest - 1 : 0;
    tensor.mutable_data<int64_t>()[0] = filler == Filler::kLowest ? lowest : highest;
  }
  Value& constant = graph_.AddConstant(std::move(tensor), "filler");
  if (made == dtype) return constant;
  return Emit("Cast", {&constant}, {{"to", static_cast<int64_t>(dtype)}});
}

Value& Padder::Filled(Value& value, int axis, Filler filler) {
  PaddedAxes axes = AxesOf(value);
  if (axes[axis].extent.is_constant() || (filler == Filler::kZero && axes[axis].zeros)) {
    return value;
  }
  Value& mask = Mask(axes[axis].extent, value.dim(axis), value.rank() - 1 - axis);
  Value& filled = value.dtype() == DType::kBool && filler == Filler::kZero
                      ? Emit("And", {&value, &mask})
                      : Emit("Where", {&mask, &value, &Constant(value.dtype(), filler)});
  axes[axis].zeros = filler == Filler::kZero;
  status_.Update(SetAxes(filled, std::move(axes)));
  return filled;
}

void Padder::Fill(Node& node, int input, int axis, Filler filler) {
  Value& filled = Filled(node.input(input), axis, filler);
  if (&filled != &node.input(input)) graph_.SetInput(node, input, &filled);
}

absl::Status Padder::RequireEqual(const Affine& a, const Affine& b) {
  if (a == b) return absl::OkStatus();
  substitution_ = Solve(a - b, lengths_);
  return absl::UnimplementedError(
      absl::StrCat("extents ", Text(a), " and ", Text(b), " differ for some lengths"));
}

void Padder::RequireNotNegative(const Affine& number) {
  if (number.Least(lengths_.most) < 0) conditions_.push_back(number);
}

}  // namespace onnx_cudnn
