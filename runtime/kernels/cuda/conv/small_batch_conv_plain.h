// Which plans of small_batch_conv are plain links (small_batch_conv.h), and their numbers.
#pragma once

#include "runtime/kernels/conv/small_batch_conv_plan.h"
#include "runtime/kernels/cuda/conv/small_batch_conv.h"

namespace onnx_cudnn {

// Whether a plan is a plain link's, if no prologue or epilogue is a chain.
bool IsPlain(const ChainPlan& plan);

// Of a plain link. The source of 3 × 3 windows, if there is one, stands first.
struct PlainLink {
  SmallBatchConvPlainForm form;
  SmallBatchConvPlainWindowParameters parameters;  // without addresses and the activation
  LaunchShape shape;
  int source[kChainSources];  // of the plan, in the order of the parameters
};
PlainLink PlainLinkOf(const ChainPlan& plan);

}  // namespace onnx_cudnn
