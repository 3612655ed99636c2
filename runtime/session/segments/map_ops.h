#pragma once

#include "runtime/session/segments/operands.h"

namespace onnx_cudnn {

// The ops on maps, of the domain ai.onnx.ml. Errors as for RunNode, without the Node's name.

// A sequence with a map from the labels to the scores of each row.
NodeResults ZipMap(const NodeOperands& operands, const ValueMemory& memory);

// The values of a map as a row, in the order of its keys (dense), or each at its key (sparse).
NodeResults CastMap(const NodeOperands& operands, const ValueMemory& memory);

// The values of a map as a row, each where its key is in the vocabulary; other keys are ignored.
NodeResults DictVectorizer(const NodeOperands& operands, const ValueMemory& memory);

}  // namespace onnx_cudnn
