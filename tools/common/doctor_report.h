#pragma once

#include <string>

#include "onnx_cudnn/doctor.h"
#include "tools/common/exit_codes.h"

namespace onnx_cudnn {

// The answer to --doctor: what is there, one line each, then what is missing, the commands that
// bring it and what works without it.
std::string DoctorText(const DoctorReport& report);
// The same as one JSON object; keys as in the help of onnx-cudnn-run.
std::string DoctorJson(const DoctorReport& report);

// kExitDone: everything that a run on a GPU needs is there; kExitNoDevice: something is missing.
ExitCode ExitCodeOf(const DoctorReport& report);

}  // namespace onnx_cudnn
