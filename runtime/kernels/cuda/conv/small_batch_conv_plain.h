// Which plans of small_batch_conv can use the plain form (small_batch_conv.h), and its parameters.
#pragma once

#include "runtime/kernels/conv/small_batch_conv_plan.h"
#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "runtime/kernels/cuda/conv/small_batch_conv.h"

namespace onnx_cudnn {

// Whether a plan can use the plain form, provided that there is no prologue or epilogue program.
bool IsPlain(const SmallBatchPlan& plan);

// A launch of the plain form. A source with 3 × 3 windows comes first.
struct PlainConv {
  SmallBatchConvPlainForm form;
  SmallBatchConvPlainWindowParameters parameters;  // without addresses and activation
  LaunchShape shape;
  // Indices into the plan's sources, in the order of the parameters.
  int source[kSmallBatchSources];
};
PlainConv PlainConvOf(const SmallBatchPlan& plan);

}  // namespace onnx_cudnn
