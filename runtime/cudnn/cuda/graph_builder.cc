#include "runtime/cudnn/cuda/graph_builder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

// -1: not among them.
int PositionOf(const Value& value, const std::vector<const Value*>& values) {
  const auto at = std::find(values.begin(), values.end(), &value);
  return at == values.end() ? -1 : static_cast<int>(at - values.begin());
}

}  // namespace

GraphBuilder::GraphBuilder(const Candidate& candidate)
    : candidate_(candidate), boundary_(BoundaryOf(candidate.nodes)) {}

const Format* GraphBuilder::FormatOf(const Value& value) const {
  if (const int i = PositionOf(value, boundary_.inputs); i >= 0) {
    return &candidate_.inputs[i].format;
  }
  const int i = PositionOf(value, boundary_.outputs);
  return i < 0 ? nullptr : &candidate_.outputs[i].format;
}

absl::StatusOr<int> GraphBuilder::Read(const Value& value, const CudnnTensorView& view) {
  if (const auto at = written_.find(&value); at != written_.end()) return at->second;
  if (const std::optional<double> number = NumberIn(value)) {
    return Number(*number, view.groups.size());
  }
  const Dims dims = value.dims();
  if (value.is_constant()) {
    const Format format = FormatBeside(view, dims);
    ASSIGN_OR_RETURN(TensorLayout layout, LayoutOf(view, dims, format));
    return ReadConstant(value, dims, format, std::move(layout));
  }
  const int input = PositionOf(value, boundary_.inputs);
  if (input < 0) {
    return absl::InternalError(absl::StrCat(value.name(), " is read before it is written"));
  }
  ASSIGN_OR_RETURN(TensorLayout layout, LayoutOf(view, dims, candidate_.inputs[input].format));
  return Append({.kind = CudnnTensor::Kind::kInput,
                 .index = input,
                 .dtype = value.dtype(),
                 .dims = std::move(layout.dims),
                 .strides = std::move(layout.strides)});
}

absl::StatusOr<int> GraphBuilder::ReadView(const StridedView& view) {
  const Value& source = *view.source;
  const int input = PositionOf(source, boundary_.inputs);
  if (input < 0 || candidate_.inputs[input].format != Format::RowMajor(source.dims())) {
    return absl::UnimplementedError(absl::StrCat(source.name(), " is no row-major input"));
  }
  return Append({.kind = CudnnTensor::Kind::kInput,
                 .index = input,
                 .offset = view.offset * BitsOf(source.dtype()) / 8,
                 .dtype = source.dtype(),
                 .dims = view.dims,
                 .strides = view.strides});
}

int GraphBuilder::ReadConstant(const Value& value, Dims dims, const Format& format,
                               TensorLayout layout) {
  const PackedConstant packed = {PositionOf(value, boundary_.constants), std::move(dims), format};
  std::vector<PackedConstant>& all = graph_.constants;
  const auto found = std::find(all.begin(), all.end(), packed);
  const int index = static_cast<int>(found - all.begin());
  if (found == all.end()) all.push_back(packed);
  return Append({.kind = CudnnTensor::Kind::kConstant,
                 .index = index,
                 .dtype = value.dtype(),
                 .dims = std::move(layout.dims),
                 .strides = std::move(layout.strides)});
}

int GraphBuilder::Number(double number, size_t rank) {
  return Append({.kind = CudnnTensor::Kind::kNumber,
                 .number = static_cast<float>(number),
                 .dims = Dims(rank, 1),
                 .strides = Dims(rank, 1)});
}

int GraphBuilder::Between(TensorLayout layout, DType dtype) {
  return Append(
      {.dtype = dtype, .dims = std::move(layout.dims), .strides = std::move(layout.strides)});
}

absl::StatusOr<int> GraphBuilder::Write(const Value& value, const CudnnTensorView& view) {
  const int output = PositionOf(value, boundary_.outputs);
  if (output < 0) return written_[&value] = Between(WholeLayout(view));
  ASSIGN_OR_RETURN(TensorLayout layout,
                   LayoutOf(view, value.dims(), candidate_.outputs[output].format));
  return Output(output, value, std::move(layout));
}

absl::StatusOr<int> GraphBuilder::WriteDense(const Value& value, const CudnnTensorView& view) {
  const int output = PositionOf(value, boundary_.outputs);
  if (output >= 0 && candidate_.outputs[output].format == Format::RowMajor(value.dims())) {
    return Output(output, value, WholeLayout(view));
  }
  return absl::UnimplementedError(absl::StrCat(value.name(), " is no row-major output"));
}

int GraphBuilder::Output(int index, const Value& value, TensorLayout layout) {
  return written_[&value] = Append({.kind = CudnnTensor::Kind::kOutput,
                                    .index = index,
                                    .dtype = value.dtype(),
                                    .dims = std::move(layout.dims),
                                    .strides = std::move(layout.strides)});
}

absl::Status GraphBuilder::WriteAs(const Value& value, int tensor, const CudnnTensorView& view) {
  if (PositionOf(value, boundary_.outputs) < 0) {
    written_[&value] = tensor;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int out, Write(value, view));
  Add({.in = {tensor}, .out = out, .mode = PointwiseMode::kIdentity});
  return absl::OkStatus();
}

CudnnGraph GraphBuilder::Finish(DType dtype) && {
  graph_.dtype = dtype;
  return std::move(graph_);
}

int GraphBuilder::Append(CudnnTensor tensor) {
  std::vector<CudnnTensor>& all = graph_.tensors;
  if (tensor.kind != CudnnTensor::Kind::kVirtual) {
    const auto found = std::find(all.begin(), all.end(), tensor);
    if (found != all.end()) return static_cast<int>(found - all.begin());
  }
  all.push_back(std::move(tensor));
  return static_cast<int>(all.size()) - 1;
}

std::optional<double> NumberIn(const Value& value) {
  if (!value.is_constant() || value.elements() != 1) return std::nullopt;
  if (!kFloatTypes.Has(value.dtype())) return std::nullopt;
  const void* raw = value.constant().raw();
  return VisitElementType(value.dtype(), [&](auto element) -> double {
    using T = decltype(element);
    if constexpr (kIsHalf<T>) {
      return ToFloat(*static_cast<const T*>(raw));
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(*static_cast<const T*>(raw));
    } else {
      return 0;
    }
  });
}

}  // namespace onnx_cudnn
