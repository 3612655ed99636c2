#pragma once

#include <optional>

#include "onnx_cudnn/dtype.h"
#include "onnx_cudnn_op.h"

namespace onnx_cudnn {

// DLPack's type of a dtype. A string is an onnx_cudnn_string: {kDLOpaqueHandle, 128, 1}.
DLDataType DLTypeOf(DType dtype);
std::optional<DType> DTypeOf(const DLDataType& type);  // none: ONNX has no such type

}  // namespace onnx_cudnn
