// What new input shapes cost in a Session that runs: the first Runs, and those after it has
// settled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/base/run_times.h"
#include "tools/common/inputs.h"

namespace onnx_cudnn {

// Runs with one set of input shapes, in milliseconds.
struct NewShapeTimes {
  std::string inputs;            // "x[1,3,640,640]"
  std::vector<double> first_ms;  // of the first Runs, in order; the first one builds a Program
  double steady_ms = 0;          // the median of the last Runs
  // The longest of all Runs, because Programs are also built and replaced beside Runs, and which
  // one it is, from 0.
  double longest_ms = 0;
  int64_t longest_run = 0;
  // Where these two spent their time.
  RunTimes first_times, longest_times;
  int64_t swapped = 0;  // Programs that replaced others during these Runs

  double beyond_ms() const { return longest_ms - steady_ms; }
};

// Runs the Session with each of `shapes`, one after the other.
//   shapes     sets of input shapes, each as --shape takes them; those of several inputs are
//              separated by semicolons: "x=1x3x640x640;mask=1x640"
//   request    what else the inputs are made of
//   settle_ms  Runs go on for at least that long before the last ones
absl::StatusOr<std::vector<NewShapeTimes>> TimeNewShapes(const Session& session,
                                                         const std::vector<std::string>& shapes,
                                                         const InputRequest& request,
                                                         double settle_ms);

}  // namespace onnx_cudnn
