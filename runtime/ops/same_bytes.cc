// Ops whose output has the bytes of input 0; the `view` Engine runs most of them at no cost.
#include "absl/strings/str_cat.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

absl::Status CopyInput(const ReferenceArgs& args) {
  if (args.in[0].elements() != args.out[0].elements()) {
    return absl::InvalidArgumentError(absl::StrCat("input ", ToString(args.in[0].dims),
                                                   " and output ", ToString(args.out[0].dims),
                                                   " differ in their number of elements"));
  }
  CopyBytes(args.in[0].data, args.out[0].data, args.in[0].bytes(), args.threads);
  return absl::OkStatus();
}

OpDef SameBytes(AxisRange axis = AxisRange::kNone) {
  return {.types = kPackedTypes,
          .reference = CopyInput,
          .traits = {.keeps_bytes = true, .keeps_range = true, .axis = axis}};
}

OpDef Own() { return {.types = kPackedTypes, .reference = CopyInput}; }

}  // namespace

OpDef IdentityOp() { return SameBytes(); }
OpDef ReshapeOp() { return SameBytes(); }
OpDef FlattenOp() { return SameBytes(AxisRange::kDimsAndEnd); }
OpDef SqueezeOp() { return SameBytes(); }
OpDef UnsqueezeOp() { return SameBytes(); }
OpDef ReformatOp() { return Own(); }
OpDef TransferOp() { return Own(); }

}  // namespace onnx_cudnn
