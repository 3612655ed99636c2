#pragma once

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// Reformat and Transfer, whose Formats stand only in their Candidate.
//   Reformat  any Format to any other on the device, padding lanes written as zero: a copy where
//             both sides' innermost axes agree, else a transpose through shared memory
//   Transfer  equal Formats between the device's memory and the host's: a memcpy node
Support CheckConversion(const Candidate& candidate);
Cost PriceOfConversion(const Candidate& candidate, const Target& target);

}  // namespace onnx_cudnn
