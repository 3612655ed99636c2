#include <cstddef>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/activation.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/conv/small_batch_conv_plain.h"
#include "runtime/kernels/gemm/small_batch_matmul.h"

namespace onnx_cudnn {
namespace {

absl::StatusOr<SmallBatchPlan> PlanOf(const KernelRequest& request, const RowProduct& matmul) {
  const DeviceInfo& info = request.target.info;
  if (request.variant.empty()) {
    const std::vector<SmallBatchPlan> plans = SmallMatMulPlansOf(request.unit, info);
    if (!plans.empty()) return plans[0];
    return absl::UnimplementedError("no tile holds its depth in shared memory");
  }
  ASSIGN_OR_RETURN(const SmallBatchTile tile, ParseSmallBatchTile(request.variant));
  ASSIGN_OR_RETURN(const SmallBatchPlan plan,
                   PlanSmallBatch(AsConvs(matmul), tile, info.shared_bytes_per_block));
  if (FillsTiles(plan) && IsPlain(plan)) return plan;
  return absl::UnimplementedError(
      absl::StrCat("the product does not fill tiles of ", request.variant));
}

}  // namespace

// Products that runtime/kernels/gemm/small_batch_matmul.cc accepts, as launches of
// small_batch_conv's plain form. Refuses a depth that no tile can hold in shared memory, and ops
// that are no activation (activation.h).
absl::StatusOr<KernelCode> CompileSmallBatchMatMul(const KernelRequest& request) {
  using Parameters = SmallBatchConvPlainParameters;
  const RowProduct matmul = RowProductOf(request.unit);
  ASSIGN_OR_RETURN(const SmallBatchPlan plan, PlanOf(request, matmul));
  PlainConv conv = PlainConvOf(plan);
  Activation& activation = conv.parameters.conv.activation;
  if (matmul.activation != nullptr) {
    activation = ActivationOf(*matmul.activation);
    if (activation.kind == Activation::Kind::kNone) {
      return absl::UnimplementedError(
          absl::StrCat(matmul.activation->op(), " is no activation of one number"));
    }
  }
  conv.form.activates = activation.kind > Activation::Kind::kRelu;
  const auto make =
      matmul.y->dtype() == DType::kF16 ? SmallBatchConvPlainF16Call : SmallBatchConvPlainBF16Call;
  Operands operands(request);
  KernelCall call = make(conv.form, conv.shape, conv.parameters);
  call.next_uses_pdl_at = offsetof(Parameters, next_uses_pdl);
  call.Bind(offsetof(Parameters, slabs),
            operands.Constant(PackSmallMatMulWeights(matmul, plan, request.unit)));
  call.Bind(offsetof(Parameters, source) + offsetof(SmallBatchConvPlainSource, x),
            operands.Of(matmul.x()).slot);
  call.Bind(offsetof(Parameters, y), operands.Of(*matmul.y).slot);
  if (matmul.residual != nullptr) {
    call.Bind(offsetof(Parameters, residual), operands.Of(*matmul.residual).slot);
  }
  return OneCall(std::move(call), operands);
}

}  // namespace onnx_cudnn
