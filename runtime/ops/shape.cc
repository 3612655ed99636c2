// Shape and Size.
#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {
namespace {

absl::Status ReferenceShape(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  const int64_t rank = dims.size();
  const auto clamped = [&](std::string_view name, int64_t otherwise) {
    const int64_t axis = args.node.attrs().Int(name, otherwise);
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = clamped("start", 0), end = clamped("end", rank);
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, {std::max<int64_t>(end - start, 0)}));
  std::copy(dims.begin() + start, dims.begin() + std::max(start, end),
            args.out[0].as<int64_t>().begin());
  return absl::OkStatus();
}

absl::Status ReferenceSize(const ReferenceArgs& args) {
  args.out[0].as<int64_t>()[0] = args.in[0].elements();
  return absl::OkStatus();
}

Cost OutputCost(const Node& node) { return {.bytes = node.output(0).bytes()}; }

OpDef DimsOp(decltype(OpDef::reference) reference) {
  return {.types = kPackedTypes, .reference = reference, .cost = OutputCost};
}

}  // namespace

OpDef ShapeOp() { return DimsOp(ReferenceShape); }
OpDef SizeOp() { return DimsOp(ReferenceSize); }

}  // namespace onnx_cudnn
