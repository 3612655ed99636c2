// Which plans of small_batch_conv have the plain form (small_batch_conv.h), and its parameters.
#pragma once

#include "runtime/kernels/conv/small_batch_conv_plan.h"
#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "runtime/kernels/cuda/conv/small_batch_conv.h"

namespace onnx_cudnn {

// Whether a plan has the plain form, if no prologue or epilogue is a chain.
bool IsPlain(const SmallBatchPlan& plan);

// A launch of the plain form. The source of 3 × 3 windows, if there is one, stands first.
struct PlainConv {
  SmallBatchConvPlainForm form;
  SmallBatchConvPlainWindowParameters parameters;  // without addresses and the activation
  LaunchShape shape;
  int source[kSmallBatchSources];  // of the plan, in the order of the parameters
};
PlainConv PlainConvOf(const SmallBatchPlan& plan);

// CompileSmallBatchConv without the plain form: what that one saves is measured against it.
absl::StatusOr<KernelCode> CompileGeneralSmallBatchConv(const KernelRequest& request);

}  // namespace onnx_cudnn
