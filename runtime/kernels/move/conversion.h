#pragma once

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// Reformat and Transfer, whose Formats are known only from their Candidate.
//   Reformat  any Format to any other on the device, padding lanes become zero: a copy if the
//             innermost axes of both sides agree, else a transpose through shared memory
//   Transfer  equal Formats between device and host memory: a memcpy node
Support CheckConversion(const Candidate& candidate);
Cost PriceOfConversion(const Candidate& candidate, const Target& target);

}  // namespace onnx_cudnn
