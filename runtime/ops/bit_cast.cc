#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

Support CheckBitCast(const Node& node) {
  const DType from = node.input(0).dtype(), to = node.output(0).dtype();
  if (kPackedTypes.Has(to) && BitsOf(from) == BitsOf(to)) return Support::Yes();
  return Support::No(absl::StrCat("the output's ", NameOf(to), " is not as wide"));
}

absl::Status ReferenceBitCast(const ReferenceArgs& args) {
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, args.in[0].dims));
  CopyBytes(args.in[0].data, args.out[0].data, args.in[0].bytes(), args.threads);
  return absl::OkStatus();
}

}  // namespace

OpDef BitCastOp() {
  return {.types = kPackedTypes, .check = CheckBitCast, .reference = ReferenceBitCast};
}

}  // namespace onnx_cudnn
