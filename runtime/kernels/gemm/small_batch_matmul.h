// Rules and weights of small_batch_matmul: a product with a constant matrix as a 1×1 convolution by
// small_batch_conv, whose pixels are the rows.
#pragma once

#include "runtime/kernels/conv/small_batch_conv_plan.h"
#include "runtime/kernels/gemm/row_product.h"

namespace onnx_cudnn {

// The product as the only convolution of a Unit.
UnitConvs AsConvs(const RowProduct& product);

// The weights and biases for `plan` (small_batch_conv_layout.h), part fastest: u8[bytes]. Their
// sources are w, then the bias if there is one.
Derived PackSmallMatMulWeights(const RowProduct& matmul, const SmallBatchPlan& plan,
                               const Unit& unit);

// Whether the kernel's device code takes the plan: parts and tiles without a rest.
bool FillsTiles(const SmallBatchPlan& plan);

// The plans that it takes, in order of predicted time.
std::vector<SmallBatchPlan> SmallMatMulPlansOf(const Unit& unit, const DeviceInfo& info);

}  // namespace onnx_cudnn
