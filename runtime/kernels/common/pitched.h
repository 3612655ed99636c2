// Operands of kernels that lie interleaved in the output of a Concat (plan/interleaved.h).
#pragma once

#include <vector>

#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

Pitched PitchedInputs(const Unit& unit);
Pitched PitchedInputsAndOutputs(const Unit& unit);

// `formats`, which the kernel supports, then the same with those operands interleaved that can be:
// the inputs, the outputs, both.
std::vector<Formats> WithPitches(const Kernel& kernel, const Unit& unit, const Formats& formats);

// Whether the kernel supports a Candidate that lies in `formats`, which it supports, except for
// pitches.
bool LiesWithPitches(const Kernel& kernel, const Unit& unit, const Candidate& candidate,
                     const Formats& formats);

}  // namespace onnx_cudnn
