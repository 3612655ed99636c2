// Which plans of conv_chain are plain links (conv_chain.h), and their numbers.
#pragma once

#include "runtime/kernels/conv_chain_plan.h"
#include "runtime/kernels/cuda/conv_chain.h"

namespace onnx_cudnn {

// Whether a plan is a plain link's, if no prologue or epilogue is a chain.
bool IsPlain(const ChainPlan& plan);

// Of a plain link. The source of 3 × 3 windows, if there is one, stands first.
struct PlainLink {
  ConvChainPlainForm form;
  ConvChainPlainWindowParameters parameters;  // without addresses and the activation
  LaunchShape shape;
  int source[kChainSources];  // of the plan, in the order of the parameters
};
PlainLink PlainLinkOf(const ChainPlan& plan);

}  // namespace onnx_cudnn
